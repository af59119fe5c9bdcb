BEGIN TRANSACTION;
CREATE TABLE leakcap_account (
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	epsilon BIGINT, 
	delta BIGINT, 
	nats_person BIGINT, 
	nats_table BIGINT, 
	nats_level BIGINT, 
	queries BIGINT NOT NULL, 
	seal TEXT NOT NULL, 
	PRIMARY KEY (scope, name)
);
CREATE TABLE leakcap_event (
	seq INTEGER NOT NULL, 
	format INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	time TEXT NOT NULL, 
	entry BIGINT NOT NULL, 
	batch BIGINT NOT NULL, 
	"query" TEXT NOT NULL, 
	text TEXT NOT NULL, 
	analyst TEXT NOT NULL, 
	details TEXT NOT NULL, 
	epsilon BIGINT, 
	delta BIGINT, 
	nats_person BIGINT, 
	nats_table BIGINT, 
	nats_level BIGINT, 
	data TEXT NOT NULL, 
	data_version BIGINT NOT NULL, 
	memo TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	software TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "leakcap_event" VALUES(1,2,'open','2026-11-02T09:01:00.000000+00:00',0,0,'','','','{"caps":{"delta":1000000,"epsilon":2000000000000,"nats_person":1000000000000},"dataset":"ward","policy":"ce450de30ae60825cae7ec0a367f5eed02ac75e23527852d0a4a0b3aff2553ca"}',0,0,0,0,0,'',0,'','','0.1.0','0000000000000000000000000000000000000000000000000000000000000000','0bdf146ec7875af386f73cdf055888c709fd770d218dce25859493d9cfdb761e');
INSERT INTO "leakcap_event" VALUES(2,2,'reserve','2026-11-02T09:03:00.000000+00:00',1,1,'n','count','räume','{"cells":1,"epsilon_contents":0.5,"mechanism":"discrete Laplace","nats_lower":0.030299861980764998,"neighbours":"add-remove-one","noise_scale_count":2.0,"unit":"row"}',500000000000,0,30299861981,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'cdc89c8b607c67144e35100188a15a992be6ef894db1f10b3c382134073a2b20','','0.1.0','0bdf146ec7875af386f73cdf055888c709fd770d218dce25859493d9cfdb761e','219b03ebf68220b800a4f14fd6123736eabe4e27944fe3239e6d3816c383354c');
INSERT INTO "leakcap_event" VALUES(3,2,'reserve','2026-11-02T09:03:00.000000+00:00',2,1,'g','count by d','räume','{"cells":2,"epsilon_contents":0.5,"mechanism":"discrete Laplace","nats_lower":0.01538773962626685,"neighbours":"add-remove-one","noise_scale_count":4.0,"unit":"row"}',250000000000,0,15387739627,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'399a4047df936bf9c641aeb0ed357a49193077ce57ed02091e8c3146cedf01db','','0.1.0','219b03ebf68220b800a4f14fd6123736eabe4e27944fe3239e6d3816c383354c','bb8bb16ad7a20266f671f257c99ee2200fffb1e9be0e7ecf59e92efc631be662');
INSERT INTO "leakcap_event" VALUES(4,2,'reserve','2026-11-02T09:03:00.000000+00:00',3,1,'m','mean of x','räume','{"cells":1,"epsilon_contents":0.375,"mechanism":"discrete Laplace","nats_lower":0.007181801900468718,"neighbours":"add-remove-one","noise_scale_count":8.0,"noise_scale_sum":40.0,"unit":"row"}',250000000000,0,9131118815,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'e685a3f43abce4d73763cac5bcd0eb01be94c35fbd38b7f567617e4bdeacdfbd','','0.1.0','bb8bb16ad7a20266f671f257c99ee2200fffb1e9be0e7ecf59e92efc631be662','39bf6d5a8a38b750887eb364629e689cdf222af4fc31c4bd0649cc0cbd2f2781');
INSERT INTO "leakcap_event" VALUES(5,2,'release','2026-11-02T09:04:00.000000+00:00',1,1,'n','','räume','{}',0,0,0,0,0,'',0,'','[[2,-4.0,8.0]]','0.1.0','39bf6d5a8a38b750887eb364629e689cdf222af4fc31c4bd0649cc0cbd2f2781','84dee28e91e3e5b22ad2e2d9c229d1c48fe2948cf86027aad6893edb1a110595');
INSERT INTO "leakcap_event" VALUES(6,2,'release','2026-11-02T09:04:00.000000+00:00',2,1,'g','','räume','{}',0,0,0,0,0,'',0,'','[[0,-12.0,12.0],[-1,-13.0,11.0]]','0.1.0','84dee28e91e3e5b22ad2e2d9c229d1c48fe2948cf86027aad6893edb1a110595','0894e7f778528bd2751fe2d7c86a8c3e4bbfbd40cb575769418d63bd39e4c9e5');
INSERT INTO "leakcap_event" VALUES(7,2,'release','2026-11-02T09:04:00.000000+00:00',3,1,'m','','räume','{}',0,0,0,0,0,'',0,'','[[0.0,0.0,10.0],["drawn/1","sum",-44669766630],["drawn/1","count",0]]','0.1.0','0894e7f778528bd2751fe2d7c86a8c3e4bbfbd40cb575769418d63bd39e4c9e5','81698443008840fd34ba5ab1fa7edf24cc31241c789340ea62b1400ab9b94682');
INSERT INTO "leakcap_event" VALUES(8,2,'repeat','2026-11-02T09:05:00.000000+00:00',1,8,'n','','räume','{}',0,0,0,0,0,'',0,'','','0.1.0','81698443008840fd34ba5ab1fa7edf24cc31241c789340ea62b1400ab9b94682','a20b99f925228d292004bda2a034593b3192bf6533b70437fe6d07fe35773b61');
INSERT INTO "leakcap_event" VALUES(9,2,'reserve','2026-11-02T09:07:00.000000+00:00',4,4,'lost','count where d = ''a''','Dr. Ng','{}',100000000000,0,10000000000,NULL,NULL,'',1,'','','0.1.0','a20b99f925228d292004bda2a034593b3192bf6533b70437fe6d07fe35773b61','38a83960d5bc7312332b4ba978b65154cb97118b24bc99119ee1d18fe4cae4ad');
CREATE TABLE leakcap_schema (
	version INTEGER NOT NULL
);
INSERT INTO "leakcap_schema" VALUES(3);
CREATE TABLE leakcap_secret (
	id INTEGER NOT NULL, 
	seed TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "leakcap_secret" VALUES(1,'c5257d8296d2522b8a03f4efc1038fdd');
CREATE TABLE leakcap_state (
	id INTEGER NOT NULL, 
	dataset TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	caps TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	time TEXT NOT NULL, 
	head TEXT NOT NULL, 
	data_versions BIGINT NOT NULL, 
	epsilon BIGINT, 
	delta BIGINT, 
	nats_person BIGINT, 
	nats_table BIGINT, 
	nats_level BIGINT, 
	queries BIGINT NOT NULL, 
	seal TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "leakcap_state" VALUES(1,'ward','ce450de30ae60825cae7ec0a367f5eed02ac75e23527852d0a4a0b3aff2553ca','{"delta":1000000,"epsilon":2000000000000,"nats_person":1000000000000}',9,'2026-11-02T09:07:00.000000+00:00','38a83960d5bc7312332b4ba978b65154cb97118b24bc99119ee1d18fe4cae4ad',1,1100000000000,0,64818720423,NULL,NULL,4,'3225c7e1043ee61149901022abbe9742d9a996056b7129e2d52067746ffe722a');
CREATE INDEX leakcap_event_data ON leakcap_event (data, seq);
CREATE INDEX leakcap_event_memo ON leakcap_event (memo, seq);
CREATE UNIQUE INDEX leakcap_event_once_only ON leakcap_event (kind, entry, batch);
CREATE INDEX leakcap_event_analyst ON leakcap_event (analyst, seq);
COMMIT;
