"""Nexmark in SQL: the events, and the queries of the public suite (github.com/nexmark/nexmark).

Plain text that Flink and millrace run alike. The events are views over one sequence: of 50 numbers
the first is a person, three are auctions and 46 are bids; half of the bids are for a hot auction,
three of four by a hot bidder. Everything is arithmetic, so every engine makes the same rows.

Where the suite needs what is not SQL, its place is taken by what is: ``count_char`` of q14 by
REPLACE, the sinks by tables that forget their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["QUERIES", "Query", "side_input", "tables"]

START_MS = 1_700_000_000_000
RATE = 10_000
"""Events per second of event time."""
_IN_FLIGHT = 3_334
"""Events for which auctions are open, at most."""
_MS = "{start} + i * 1000 / {rate}"
_PERSON = "(i / 50)"
_AUCTION = "(i / 50 * 3 + MOD(i, 50) - 1)"
_LAST_AUCTION = "(i / 50 * 3 + 2)"
_OTHER_PERSON = f"{_PERSON} - MOD(MOD(i * 104729, 1000), {_PERSON} + 1)"
_INITIAL = f"100 + MOD({_AUCTION} * 7919, CAST(1000000 AS BIGINT))"

_VIEWS = {
    "person": f"""SELECT {_PERSON} + 1000 AS id,
    CONCAT('Person ', CAST(MOD({_PERSON} * 31, 997) AS STRING)) AS name,
    CONCAT('p', CAST({_PERSON} AS STRING), '@example.com') AS emailAddress,
    CAST(1000000000000000 + {_PERSON} * 7919 AS STRING) AS creditCard,
    CASE MOD({_PERSON}, 4) WHEN 0 THEN 'Phoenix' WHEN 1 THEN 'Los Angeles'
        WHEN 2 THEN 'Boise' ELSE 'Portland' END AS city,
    CASE MOD({_PERSON}, 6) WHEN 0 THEN 'AZ' WHEN 1 THEN 'CA' WHEN 2 THEN 'ID'
        WHEN 3 THEN 'OR' WHEN 4 THEN 'WA' ELSE 'WY' END AS state,
    `dateTime`, CONCAT('about ', CAST(MOD(i * 7919, 1000003) AS STRING)) AS extra
FROM events WHERE MOD(i, 50) = 0""",
    "auction": f"""SELECT {_AUCTION} + 1000 AS id,
    CONCAT('item ', CAST({_AUCTION} AS STRING)) AS itemName,
    CONCAT('a thing of kind ', CAST(MOD({_AUCTION} * 31, 997) AS STRING)) AS description,
    {_INITIAL} AS initialBid, {_INITIAL} + MOD({_AUCTION} * 31, 1000) AS reserve,
    `dateTime`, {{expires}} AS expires,
    CASE WHEN MOD(i, 4) <> 0 THEN {_PERSON} / 100 * 100
        ELSE {_OTHER_PERSON} END + 1000 AS seller,
    10 + MOD({_AUCTION}, CAST(5 AS BIGINT)) AS category,
    CONCAT('details ', CAST(MOD(i * 7919, 1000003) AS STRING)) AS extra
FROM events WHERE MOD(i, 50) BETWEEN 1 AND 3""",
    "bid": f"""SELECT CASE WHEN MOD(i, 2) = 0 THEN {_LAST_AUCTION} / 100 * 100
        ELSE {_LAST_AUCTION} - MOD(MOD(i * 48271, 100), {_LAST_AUCTION} + 1) END + 1000 AS auction,
    CASE WHEN MOD(i, 4) <> 0 THEN {_PERSON} / 100 * 100 + 1
        ELSE {_OTHER_PERSON} END + 1000 AS bidder,
    (100 + MOD(i * 48271, CAST(900 AS BIGINT))) * CASE MOD(i / 4, 6)
        WHEN 0 THEN 1 WHEN 1 THEN 10 WHEN 2 THEN 100 WHEN 3 THEN 1000 WHEN 4 THEN 10000
        ELSE 100000 END AS price,
    CASE MOD(i / 2, 8) WHEN 0 THEN 'Google' WHEN 1 THEN 'Facebook' WHEN 2 THEN 'Baidu'
        WHEN 3 THEN 'Apple' ELSE CONCAT('channel-', CAST(MOD(i * 7, 10000) AS STRING)) END
        AS channel,
    CASE WHEN MOD(i / 2, 8) < 4 THEN 'https://www.nexmark.com/abc/defg/hi/item.htm?query=1'
        ELSE CONCAT('https://www.nexmark.com/jkl/mnop/qr/item.htm?query=1&channel_id=',
            CAST(MOD(i * 7, 10000) AS STRING)) END AS url,
    `dateTime`, CONCAT('accepted ', CAST(MOD(i * 7919, 1000003) AS STRING)) AS extra
FROM events WHERE MOD(i, 50) > 3""",
}


def tables(events: int, rate: int = RATE) -> list[str]:
    """The statements that declare ``person``, ``auction`` and ``bid``.

    Args:
        events: how many there are of the three together.
        rate: events per second of event time.
    """
    time = "CAST(TO_TIMESTAMP_LTZ({ms}, 3) AS TIMESTAMP(3))"
    source = (
        f"CREATE TEMPORARY TABLE events (i BIGINT, `dateTime` AS {_timed(time, rate)}, "
        "WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ("
        "'connector' = 'datagen', 'rows-per-second' = '1000000000', "
        f"'fields.i.kind' = 'sequence', 'fields.i.start' = '0', 'fields.i.end' = '{events - 1}')"
    )
    by_clock = "CREATE TEMPORARY VIEW proctime_bid AS SELECT *, PROCTIME() AS p_time FROM bid"
    return [source, *views(time, rate), by_clock]


def side_input(path: str) -> str:
    """The statement for q13 that declares ``side_input``: a table of that name in a file of SQLite,
    with a row for each remainder by 10,000."""
    return (
        "CREATE TEMPORARY TABLE side_input (key BIGINT, val STRING) WITH ('connector' = 'jdbc', "
        f"'url' = 'sqlite:///{path}', 'table-name' = 'side_input', 'lookup.cache' = 'PARTIAL')"
    )


def views(time: str, rate: int) -> list[str]:
    """The three kinds of events over a table of ``i`` and ``dateTime``; ``time`` makes a time of
    ``{ms}``."""
    open_ms = f" + 1 + MOD({_AUCTION} * 31, {_IN_FLIGHT * 1000 // rate})"
    expires = _timed(time, rate, open_ms)
    return [
        f"CREATE TEMPORARY VIEW {name} AS {text.format(expires=expires)}"
        for name, text in _VIEWS.items()
    ]


def _timed(time: str, rate: int, later: str = "") -> str:
    return time.format(ms=f"({_MS.format(start=START_MS, rate=rate)}{later})")


@dataclass(frozen=True)
class Query:
    """A query of the suite.

    Attributes:
        text: of both engines.
        refused: part of the sentence by which both engines refuse it; empty: it is not refused.
    """

    text: str
    refused: str = ""


def _hop(alias: str) -> str:
    return f"""SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end) AS {alias}"""


def _counts(column: str) -> str:
    counted = "COUNT(*)" if column == "*" else f"COUNT(DISTINCT {column})"
    return f"""{counted} AS total_{len(column)},
    {counted} FILTER (WHERE price < 10000) AS rank1_{len(column)},
    {counted} FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_{len(column)},
    {counted} FILTER (WHERE price >= 1000000) AS rank3_{len(column)}"""


_DAY = "DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
_WINNING = """SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime,
        B.extra AS bid_extra, ROW_NUMBER() OVER (
            PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS rownum
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires"""

QUERIES: dict[str, Query] = {
    "q0": Query("SELECT auction, bidder, price, `dateTime`, extra FROM bid"),
    "q1": Query("SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid"),
    "q2": Query("SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": Query("""SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')"""),
    "q4": Query("""SELECT Q.category, AVG(Q.final) AS final FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
    GROUP BY A.id, A.category) Q
GROUP BY Q.category"""),
    "q5": Query(f"""SELECT AuctionBids.auction, AuctionBids.num FROM ({_hop("AuctionBids")}
JOIN (
    SELECT MAX(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
    FROM ({_hop("CountBids")}
    GROUP BY CountBids.starttime, CountBids.endtime) AS MaxBids
ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime
    AND AuctionBids.num >= MaxBids.maxn"""),
    "q6": Query(
        f"""SELECT seller, AVG(price) OVER (
    PARTITION BY seller ORDER BY bid_dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS final
FROM (SELECT * FROM ({_WINNING}) WHERE rownum <= 1)""",
        refused="Non-time attribute sort is not supported for bounded OVER window",
    ),
    "q7": Query("""SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra
FROM bid B JOIN (
    SELECT MAX(price) AS maxprice, window_end AS `dateTime`
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end) B1
ON B.price = B1.maxprice
WHERE B.`dateTime` BETWEEN B1.`dateTime` - INTERVAL '10' SECOND AND B1.`dateTime`"""),
    "q8": Query("""SELECT P.id, P.name, P.starttime FROM (
    SELECT id, name, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
    GROUP BY id, name, window_start, window_end) P
JOIN (
    SELECT seller, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
    GROUP BY seller, window_start, window_end) A
ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime"""),
    "q9": Query(f"""SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires,
    seller, category, extra, auction, bidder, price, bid_dateTime, bid_extra
FROM ({_WINNING}) WHERE rownum <= 1"""),
    "q10": Query("""SELECT auction, bidder, price, `dateTime`, extra,
    DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS dt, DATE_FORMAT(`dateTime`, 'HH:mm') AS hm
FROM bid"""),
    "q11": Query(
        """SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime,
    window_end AS endtime
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
    ),
    "q12": Query(
        """SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime,
    window_end AS endtime
FROM TABLE(TUMBLE(TABLE proctime_bid, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end"""
    ),
    "q13": Query(
        """SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.val
FROM proctime_bid AS B JOIN side_input FOR SYSTEM_TIME AS OF B.p_time AS S
ON MOD(B.auction, 10000) = S.key"""
    ),
    "q14": Query("""SELECT auction, bidder, 0.908 * price AS price,
    CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
        WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
        ELSE 'otherTime' END AS bidTimeType,
    `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000"""),
    "q15": Query(f"""SELECT {_DAY} AS dt, {_counts("*")},
    {_counts("bidder")},
    {_counts("auction")}
FROM bid GROUP BY {_DAY}"""),
    "q16": Query(f"""SELECT channel, {_DAY} AS dt, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS hm,
    {_counts("*")},
    {_counts("bidder")},
    {_counts("auction")}
FROM bid GROUP BY channel, {_DAY}"""),
    "q17": Query(f"""SELECT auction, {_DAY} AS dt, {_counts("*")},
    MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price,
    SUM(price) AS sum_price
FROM bid GROUP BY auction, {_DAY}"""),
    "q18": Query("""SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rank_number FROM bid)
WHERE rank_number <= 1"""),
    "q19": Query("""SELECT * FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
    FROM bid) WHERE rank_number <= 10"""),
    "q20": Query("""SELECT auction, bidder, price, channel, url, B.`dateTime` AS bid_dateTime,
    B.extra AS bid_extra, itemName, description, initialBid, reserve,
    A.`dateTime` AS auction_dateTime, expires, seller, category, A.extra AS auction_extra
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10"""),
    "q21": Query("""SELECT auction, bidder, price, channel,
    CASE WHEN LOWER(channel) = 'apple' THEN '0' WHEN LOWER(channel) = 'google' THEN '1'
        WHEN LOWER(channel) = 'facebook' THEN '2' WHEN LOWER(channel) = 'baidu' THEN '3'
        ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
    OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')"""),
    "q22": Query("""SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1,
    SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid"""),
    "q23": Query("""SELECT bidder, price, channel, url, B.extra AS bid_extra, P.id AS person_id,
    name, emailAddress, creditCard, city, state, P.extra AS person_extra, itemName, description,
    initialBid, reserve, A.`dateTime` AS auction_dateTime, expires, seller, category,
    A.extra AS auction_extra
FROM bid B JOIN person P ON P.id = B.bidder JOIN auction A ON A.seller = B.bidder"""),
}
