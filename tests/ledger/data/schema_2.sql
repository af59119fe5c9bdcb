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
INSERT INTO "leakcap_event" VALUES(1,2,'open','2026-11-01T09:01:00.000000+00:00',0,0,'','','','{"caps":{"delta":1000000,"epsilon":2000000000000,"nats_person":1000000000000},"dataset":"ward","policy":"ce450de30ae60825cae7ec0a367f5eed02ac75e23527852d0a4a0b3aff2553ca"}',0,0,0,0,0,'',0,'','','0.1.0','0000000000000000000000000000000000000000000000000000000000000000','7e322ef5df8174e5998b65ff5652a6a21a3c1f59f6c2a6016ce4b9459dff7438');
INSERT INTO "leakcap_event" VALUES(2,2,'reserve','2026-11-01T09:04:00.000000+00:00',1,1,'n','count','räume','{"cells":1,"epsilon_contents":0.5,"mechanism":"discrete Laplace","nats_lower":0.030299861980764998,"neighbours":"add-remove-one","noise_scale_count":2.0,"unit":"row"}',500000000000,0,30299861981,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'cdc89c8b607c67144e35100188a15a992be6ef894db1f10b3c382134073a2b20','','0.1.0','7e322ef5df8174e5998b65ff5652a6a21a3c1f59f6c2a6016ce4b9459dff7438','6da97c93d8d3c597bcfdf379a58def413b4df89caf2c34d83deef43d3e5c3f87');
INSERT INTO "leakcap_event" VALUES(3,2,'reserve','2026-11-01T09:04:00.000000+00:00',2,1,'g','count by d','räume','{"cells":2,"epsilon_contents":0.5,"mechanism":"discrete Laplace","nats_lower":0.01538773962626685,"neighbours":"add-remove-one","noise_scale_count":4.0,"unit":"row"}',250000000000,0,15387739627,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'399a4047df936bf9c641aeb0ed357a49193077ce57ed02091e8c3146cedf01db','','0.1.0','6da97c93d8d3c597bcfdf379a58def413b4df89caf2c34d83deef43d3e5c3f87','e67dc478b93afffc7f18dcb2033fe3bb52771a9e48a2a36fe332e86fda1c3a14');
INSERT INTO "leakcap_event" VALUES(4,2,'reserve','2026-11-01T09:04:00.000000+00:00',3,1,'m','mean of x','räume','{"cells":1,"epsilon_contents":0.375,"mechanism":"discrete Laplace","nats_lower":0.007181801900468718,"neighbours":"add-remove-one","noise_scale_count":8.0,"noise_scale_sum":40.0,"unit":"row"}',250000000000,0,9131118815,NULL,NULL,'8806c792565433e393f6132f83d3e92d483612bbb397489a7e44cceb9f7828f8',1,'e685a3f43abce4d73763cac5bcd0eb01be94c35fbd38b7f567617e4bdeacdfbd','','0.1.0','e67dc478b93afffc7f18dcb2033fe3bb52771a9e48a2a36fe332e86fda1c3a14','5f962ead255a0e704816f7942492776715547127922aeac414d5c161250989b4');
INSERT INTO "leakcap_event" VALUES(5,2,'release','2026-11-01T09:05:00.000000+00:00',1,1,'n','','räume','{}',0,0,0,0,0,'',0,'','[[6,0.0,12.0]]','0.1.0','5f962ead255a0e704816f7942492776715547127922aeac414d5c161250989b4','aca89f2df3ad8df3d651ff6fb42f4fc5a47a804bb535cf3d002d48bfac2a0fbb');
INSERT INTO "leakcap_event" VALUES(6,2,'release','2026-11-01T09:05:00.000000+00:00',2,1,'g','','räume','{}',0,0,0,0,0,'',0,'','[[0,-12.0,12.0],[-3,-15.0,9.0]]','0.1.0','aca89f2df3ad8df3d651ff6fb42f4fc5a47a804bb535cf3d002d48bfac2a0fbb','029cf28d5798621f0a07d89f07dbd3bc2b0dfddeeaad7040a95aa68948d6dcf0');
INSERT INTO "leakcap_event" VALUES(7,2,'release','2026-11-01T09:05:00.000000+00:00',3,1,'m','','räume','{}',0,0,0,0,0,'',0,'','[[5.0406338723583355,0.0,10.0]]','0.1.0','029cf28d5798621f0a07d89f07dbd3bc2b0dfddeeaad7040a95aa68948d6dcf0','70973eb18801f9b43a491589f72d971b7a389bb4537aea5a74304ef7c267be3c');
INSERT INTO "leakcap_event" VALUES(8,2,'repeat','2026-11-01T09:06:00.000000+00:00',1,8,'n','','räume','{}',0,0,0,0,0,'',0,'','','0.1.0','70973eb18801f9b43a491589f72d971b7a389bb4537aea5a74304ef7c267be3c','71016efd4b112fda22ed7ff7df0a92ef3b361c3aafa1c5da81d56a3f6e50dc42');
INSERT INTO "leakcap_event" VALUES(9,2,'reserve','2026-11-01T09:08:00.000000+00:00',4,4,'lost','count where d = ''a''','Dr. Ng','{}',100000000000,0,10000000000,NULL,NULL,'',1,'','','0.1.0','71016efd4b112fda22ed7ff7df0a92ef3b361c3aafa1c5da81d56a3f6e50dc42','e343103ee0e6353e2f89a06ed8d1acb47e1a6429208226dc3a1a3aa535de1604');
CREATE TABLE leakcap_schema (
	version INTEGER NOT NULL
);
INSERT INTO "leakcap_schema" VALUES(2);
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
INSERT INTO "leakcap_state" VALUES(1,'ward','ce450de30ae60825cae7ec0a367f5eed02ac75e23527852d0a4a0b3aff2553ca','{"delta":1000000,"epsilon":2000000000000,"nats_person":1000000000000}',9,'2026-11-01T09:08:00.000000+00:00','e343103ee0e6353e2f89a06ed8d1acb47e1a6429208226dc3a1a3aa535de1604',1,1100000000000,0,64818720423,NULL,NULL,4,'a64296a7c48197c9b8d6bf3f303d0f6eab71d50c8ca35735376ab30c3652211b');
CREATE UNIQUE INDEX leakcap_event_once_only ON leakcap_event (kind, entry, batch);
CREATE INDEX leakcap_event_analyst ON leakcap_event (analyst, seq);
CREATE INDEX leakcap_event_memo ON leakcap_event (memo, seq);
CREATE INDEX leakcap_event_data ON leakcap_event (data, seq);
COMMIT;
