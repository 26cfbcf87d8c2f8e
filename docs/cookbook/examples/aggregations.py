from dataclasses import dataclass

from millrace.datastream import StreamExecutionEnvironment


@dataclass(frozen=True)
class Offer:
    article: str
    shop: str
    price: int


offers = [
    Offer("lamp", "North", 30),
    Offer("lamp", "South", 25),
    Offer("lamp", "East", 25),
    Offer("lamp", "West", 40),
]

env = StreamExecutionEnvironment.get_execution_environment()
articles = env.from_collection(offers).key_by("article")
articles.min("price").map(lambda offer: f"{offer.shop} {offer.price}").print("min   ")
articles.min_by("price").map(lambda offer: f"{offer.shop} {offer.price}").print("min_by")
articles.sum("price").map(lambda offer: f"{offer.shop} {offer.price}").print("sum   ")
articles.reduce(lambda one, other: other if other.price > one.price else one).map(
    lambda offer: f"{offer.shop} {offer.price}"
).print("reduce")
env.execute("offers")
