"""Message types for tests, made without protoc."""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    descriptor_pb2,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

SCALARS = {
    "f_double": Field.TYPE_DOUBLE,
    "f_float": Field.TYPE_FLOAT,
    "f_int32": Field.TYPE_INT32,
    "f_int64": Field.TYPE_INT64,
    "f_uint32": Field.TYPE_UINT32,
    "f_sint32": Field.TYPE_SINT32,
    "f_sint64": Field.TYPE_SINT64,
    "f_fixed32": Field.TYPE_FIXED32,
    "f_sfixed64": Field.TYPE_SFIXED64,
    "f_bool": Field.TYPE_BOOL,
    "f_string": Field.TYPE_STRING,
    "f_bytes": Field.TYPE_BYTES,
}


def add(
    message: Any,
    name: str,
    kind: int,
    type_name: str = "",
    repeated: bool = False,
    oneof: int | None = None,
    optional: bool = False,
) -> None:
    field = message.field.add(name=name, number=len(message.field) + 1, type=kind)
    field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
    if type_name:
        field.type_name = type_name
    if oneof is not None:
        field.oneof_index = oneof
    if optional:
        message.oneof_decl.add(name=f"_{name}")
        field.oneof_index = len(message.oneof_decl) - 1
        field.proto3_optional = True


def add_map(message: Any, name: str, value: int, type_name: str = "") -> None:
    entry = message.nested_type.add(name=f"{name.title()}Entry")
    entry.options.map_entry = True
    add(entry, "key", Field.TYPE_STRING)
    add(entry, "value", value, type_name)
    full = f".shop.{message.name}.{entry.name}"
    add(message, name, Field.TYPE_MESSAGE, full, repeated=True)


def shop_file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(
        f"google/protobuf/{name}.proto" for name in ("duration", "struct", "timestamp", "wrappers")
    )
    colour = file.enum_type.add(name="Colour")
    for number, name in enumerate(("RED", "GREEN")):
        colour.value.add(name=name, number=number)
    flat = file.message_type.add(name="Flat")
    for name, kind in SCALARS.items():
        add(flat, name, kind)
    add(flat, "maybe", Field.TYPE_INT32, optional=True)
    add(flat, "colour", Field.TYPE_ENUM, ".shop.Colour")
    add(flat, "tags", Field.TYPE_STRING, repeated=True)
    place = file.message_type.add(name="Place")
    add(place, "x", Field.TYPE_INT32)
    order = file.message_type.add(name="Order")
    add(order, "place", Field.TYPE_MESSAGE, ".shop.Place")
    add(order, "places", Field.TYPE_MESSAGE, ".shop.Place", repeated=True)
    add(order, "large", Field.TYPE_UINT64)
    add_map(order, "counts", Field.TYPE_INT64)
    add_map(order, "known", Field.TYPE_MESSAGE, ".shop.Place")
    add_map(order, "shades", Field.TYPE_ENUM, ".shop.Colour")
    order.oneof_decl.add(name="paid")
    add(order, "cash", Field.TYPE_INT32, oneof=0)
    add(order, "card", Field.TYPE_STRING, oneof=0)
    for name, kind in (
        ("at", "Timestamp"),
        ("took", "Duration"),
        ("note", "StringValue"),
        ("number", "Int64Value"),
        ("anything", "Struct"),
    ):
        add(order, name, Field.TYPE_MESSAGE, f".google.protobuf.{kind}")
    add(order, "colours", Field.TYPE_ENUM, ".shop.Colour", repeated=True)
    tree = file.message_type.add(name="Tree")
    add(tree, "children", Field.TYPE_MESSAGE, ".shop.Tree", repeated=True)
    return file


def shop_set() -> bytes:
    found = FileDescriptorSet()
    for module in (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2):
        module.DESCRIPTOR.CopyToProto(found.file.add())
    found.file.append(shop_file())
    return found.SerializeToString()


def shop_class(name: str) -> Any:
    pool = DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(shop_set()).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))
