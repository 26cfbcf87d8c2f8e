-- The file is read in pieces, as if its rows came in the course of the morning: at once nothing would be late.
SET 'millrace.epoch.initial-records-per-split' = '960';
SET 'millrace.epoch.max-records-per-split' = '960';
SET 'pipeline.name' = 'network';

-- What the cells tell, in the order of arrival: up to five minutes later than others is in time.
CREATE TABLE measurements (
    ts TIMESTAMP(3), region STRING, cell STRING, calls BIGINT, dropped BIGINT, mbps DOUBLE,
    WATERMARK FOR ts AS ts - INTERVAL '5' MINUTE
) WITH ('connector' = 'filesystem', 'path' = 'measurements.jsonl', 'format' = 'json');

-- The last 15 minutes, every 5: of each cell, of each region, and of the whole network.
CREATE VIEW quality AS
SELECT window_start, window_end, window_time, COALESCE(region, 'all') AS region,
    COALESCE(cell, 'all') AS cell, SUM(calls) AS calls,
    CAST(SUM(dropped) AS DOUBLE) / SUM(calls) AS drop_rate, AVG(mbps) AS mbps
FROM HOP(TABLE measurements, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '15' MINUTE)
GROUP BY window_start, window_end, window_time, ROLLUP (region, cell);

CREATE TABLE board (
    `end` TIMESTAMP(3), region STRING, cell STRING, calls BIGINT, drop_rate DOUBLE, mbps DOUBLE
) WITH ('connector' = 'filesystem', 'path' = 'results/board', 'format' = 'json');

CREATE TABLE worst (`end` TIMESTAMP(3), place BIGINT, cell STRING, drop_rate DOUBLE)
WITH ('connector' = 'filesystem', 'path' = 'results/worst', 'format' = 'json');

CREATE TABLE alarms (region STRING, cell STRING, since TIMESTAMP(3), until TIMESTAMP(3), drop_rate DOUBLE)
WITH ('connector' = 'filesystem', 'path' = 'results/alarms', 'format' = 'json');

CREATE TABLE late (ts TIMESTAMP(3), region STRING, cell STRING, calls BIGINT, dropped BIGINT)
WITH ('connector' = 'filesystem', 'path' = 'results/late', 'format' = 'json');

-- One job, which reads the measurements once.
EXECUTE STATEMENT SET
BEGIN
INSERT INTO board
SELECT window_end, region, cell, calls, ROUND(drop_rate, 3), ROUND(mbps, 1) FROM quality;

-- The three worst cells of each window.
INSERT INTO worst
SELECT window_end, place, cell, ROUND(drop_rate, 3) FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY window_start, window_end ORDER BY drop_rate DESC, cell) AS place
    FROM quality WHERE cell <> 'all'
) WHERE place <= 3;

-- From the first of at least three bad windows in a row until the first good one.
INSERT INTO alarms
SELECT region, cell, since, until, ROUND(drop_rate, 3)
FROM quality MATCH_RECOGNIZE (
    PARTITION BY region, cell
    ORDER BY window_time
    MEASURES FIRST(bad.window_start) AS since, LAST(bad.window_end) AS until,
        AVG(bad.drop_rate) AS drop_rate
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (bad{3,} good)
    DEFINE bad AS bad.drop_rate > 0.05, good AS good.drop_rate <= 0.05
);

-- Measurements that come when a window of theirs is over.
INSERT INTO late
SELECT ts, region, cell, calls, dropped
FROM TUMBLE(TABLE measurements, DESCRIPTOR(ts), INTERVAL '5' MINUTE)
WHERE window_time <= CURRENT_WATERMARK(ts);
END;
