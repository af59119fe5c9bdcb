SELECT month, sex, COUNT(*) AS "stays by month and sex" FROM stays GROUP BY month, sex;
SELECT chapter, age_band, COUNT(*) AS "stays by chapter and age" FROM stays GROUP BY chapter, age_band;
SELECT quarter, AVG(emergency) AS "emergencies by quarter" FROM stays GROUP BY quarter;
SELECT chapter, AVG(cost) AS "cost by chapter" FROM stays GROUP BY chapter;
SELECT MEDIAN(age) AS "median age" FROM stays;
