"""The tables of a shop's catalogue, what is derived from them, and what people do with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

TABLES = """
create table products (
    id int primary key, name text not null, category text not null, cents int not null
);
create table reviews (
    id int primary key, product int not null, stars int not null
);
alter table products replica identity full;
alter table reviews replica identity full;
create schema derived;
create table derived.categories (
    category text primary key, products bigint not null, reviews bigint not null,
    stars bigint not null
);
"""
"""With the full identity of rows, changes tell of values before them, too."""
DOCUMENTS = """
    SELECT p.id, p.name, p.category, p.cents, COALESCE(r.reviews, 0) AS reviews, r.stars
    FROM products p LEFT JOIN (
        SELECT product, COUNT(*) AS reviews, ROUND(AVG(CAST(stars AS DOUBLE)), 2) AS stars
        FROM reviews GROUP BY product
    ) r ON p.id = r.product
"""
"""A document of the search index: a product, with what people think of it."""
CATEGORIES = """
    SELECT p.category, COUNT(DISTINCT p.id) AS products, COUNT(r.id) AS reviews,
        COALESCE(SUM(r.stars), 0) AS stars
    FROM products p LEFT JOIN reviews r ON p.id = r.product
    GROUP BY p.category
"""
"""The materialised view. PostgreSQL understands the same text: a test compares the two."""
NAMES = ("lamp", "desk", "chair", "shelf", "clock", "mirror")
COLOURS = ("red", "green", "blue", "white", "black")
Statement = tuple[str, tuple[Any, ...]]


def work(steps: int, seed: int = 1) -> Iterator[list[Statement]]:
    """Transactions: products come, change their price or their category, and go; so do reviews."""
    dice = random.Random(seed)
    products: list[int] = []
    reviews: list[int] = []
    for step in range(1, steps + 1):
        chance = dice.random()
        if chance < 0.3 or not products:
            products.append(step)
            name = f"{dice.choice(COLOURS)} {dice.choice(NAMES)}"
            product = step, name, f"room {dice.randrange(4)}", dice.randrange(500, 90_000)
            yield [("insert into products values (%s, %s, %s, %s)", product)]
        elif chance < 0.7:
            reviews.append(step)
            review = step, dice.choice(products), dice.randrange(1, 6)
            yield [("insert into reviews values (%s, %s, %s)", review)]
        elif chance < 0.8:
            cents = dice.randrange(500, 90_000), dice.choice(products)
            yield [("update products set cents = %s where id = %s", cents)]
        elif chance < 0.86:
            place = f"room {dice.randrange(4)}", dice.choice(products)
            yield [("update products set category = %s where id = %s", place)]
        elif chance < 0.93 and reviews:
            yield [("delete from reviews where id = %s", (_removed(dice, reviews),))]
        else:
            gone = (_removed(dice, products),)
            # in one transaction, but nothing here depends on it
            yield [
                ("delete from reviews where product = %s", gone),
                ("delete from products where id = %s", gone),
            ]


def _removed(dice: random.Random, numbers: list[int]) -> int:
    return numbers.pop(dice.randrange(len(numbers)))


def apply(sql: Any, transaction: list[Statement]) -> None:
    """Do it in the database."""
    with sql.transaction():
        for text, values in transaction:
            sql.execute(text, values)
