// Functions of the tests, served with the JavaScript SDK of Stateful Functions. They are the same
// in all languages; README.md beside this directory says what each does.
"use strict";

const http = require("http");
const { StateFun, egressMessageBuilder, messageBuilder } = require("apache-flink-statefun");

const statefun = new StateFun();
const WORKER = "smoke/worker";
const COMMAND = StateFun.jsonType("smoke/command");
const JSON_VALUE = StateFun.jsonType("test/json");
const STRING = StateFun.stringType();

// The SDK has no long and no double, because its numbers are doubles. Their bytes are one field
// with the number 1, which is absent if the value is 0.
function fixed64(typename, write, read, zero) {
  const serialize = (value) => {
    if (Object.is(value, zero)) return Buffer.alloc(0);
    const bytes = Buffer.alloc(9);
    bytes[0] = 9;
    write(bytes, value);
    return bytes;
  };
  const deserialize = (bytes) => (bytes.length ? read(bytes) : zero);
  return StateFun.customType(typename, serialize, deserialize);
}

const LONG = fixed64(
  "io.statefun.types/long",
  (bytes, value) => bytes.writeBigInt64LE(value, 1),
  (bytes) => bytes.readBigInt64LE(1),
  0n,
);
const DOUBLE = fixed64(
  "io.statefun.types/double",
  (bytes, value) => bytes.writeDoubleLE(value, 1),
  (bytes) => bytes.readDoubleLE(1),
  0.0,
);

function tell(context, value, valueType = STRING, typename = "test/out") {
  context.send(egressMessageBuilder({ typename, value, valueType }));
}

statefun.bind({
  typename: "test/greeter",
  specs: [
    { name: "seen", type: StateFun.intType() },
    { name: "last", type: STRING },
  ],
  fn(context, message) {
    const text = message.asString();
    const before = context.storage.last ?? "None";
    const caller = context.caller ? context.caller.id : "-";
    context.storage.seen = (context.storage.seen || 0) + 1;
    context.storage.last = text;
    tell(context, `${context.self.id} ${text} ${context.storage.seen} ${before} ${caller}`);
  },
});

statefun.bind({
  typename: "test/relay",
  async fn(context, message) {
    await Promise.resolve();
    const [target, ...rest] = message.asString().split(" ");
    context.send(messageBuilder({ typename: "test/greeter", id: target, value: rest.join(" ") }));
  },
});

statefun.bind({
  typename: "test/alarm",
  fn(context, message) {
    const [word, text] = message.asString().split(" ");
    if (word === "cancel") {
      context.cancelDelayedMessage(text);
      return;
    }
    const typename = "test/greeter";
    const later = messageBuilder({ typename, id: context.self.id, value: text });
    context.sendAfter(Number(word), later, text);
  },
});

statefun.bind({
  typename: "test/short",
  specs: [
    { name: "written", type: StateFun.intType(), expireAfterWrite: 10_000 },
    { name: "called", type: StateFun.intType(), expireAfterCall: 10_000 },
  ],
  fn(context, message) {
    const text = message.asString();
    if (text === "write") {
      context.storage.written = (context.storage.written || 0) + 1;
      context.storage.called = (context.storage.called || 0) + 1;
    } else if (text !== "read") {
      const delay = Number(text.split(" ")[0]);
      const value = text.split(" ")[1];
      const { typename, id } = context.self;
      context.sendAfter(delay, messageBuilder({ typename, id, value }));
      return;
    }
    tell(context, `${text} ${context.storage.written ?? "None"} ${context.storage.called ?? "None"}`);
  },
});

const KINDS = {
  bool: StateFun.booleanType(),
  int: StateFun.intType(),
  long: LONG,
  float: StateFun.floatType(),
  double: DOUBLE,
  string: STRING,
  json: JSON_VALUE,
};

statefun.bind({
  typename: "test/types",
  specs: Object.entries(KINDS).map(([name, type]) => ({ name, type })),
  fn(context, message) {
    for (const [name, type] of Object.entries(KINDS)) {
      if (!message.is(type)) continue;
      const value = message.as(type);
      const former = context.storage[name];
      if (former !== null && former !== undefined) tell(context, former, type);
      if (value === "forget") {
        for (const each of Object.keys(KINDS)) context.storage[each] = null;
      } else {
        context.storage[name] = value;
        tell(context, value, type);
      }
    }
  },
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function command(id, steps) {
  return messageBuilder({ typename: WORKER, id, value: { steps }, valueType: COMMAND });
}

async function carryOut(context, steps) {
  const storage = context.storage;
  const caller = context.caller;
  for (const step of steps) {
    switch (step.do) {
      case "add":
        storage.count = (storage.count ?? 0n) + BigInt(step.by);
        break;
      case "send":
        context.send(command(step.to, step.steps));
        break;
      case "reply":
        if (caller) context.send(command(caller.id, step.steps));
        break;
      case "later":
        context.sendAfter(step.after, command(step.to, step.steps), step.token);
        break;
      case "cancel":
        context.cancelDelayedMessage(step.token);
        break;
      case "wait":
        await pause(step.ms);
        await carryOut(context, step.steps);
        break;
      case "tell":
        tell(context, step.text, STRING, "smoke/out");
        break;
      case "report": {
        const state = `${storage.count ?? 0n} ${storage.seen ?? 0} ${storage.last ?? 0}`;
        tell(context, `${context.self.id} ${state}`, STRING, "smoke/states");
        break;
      }
      default:
        throw new Error(`unknown step ${JSON.stringify(step)}`);
    }
  }
}

statefun.bind({
  typename: WORKER,
  specs: [
    { name: "count", type: LONG },
    { name: "seen", type: StateFun.intType() },
    { name: "last", type: StateFun.intType() },
  ],
  async fn(context, message) {
    const storage = context.storage;
    const { n, steps } = message.as(COMMAND);
    storage.seen = (storage.seen ?? 0) + 1;
    if (n !== undefined) {
      const last = storage.last ?? 0;
      if (n !== last + 1) {
        tell(context, `disorder ${context.self.id} ${last} ${n}`, STRING, "smoke/out");
      }
      storage.last = n;
    }
    await carryOut(context, steps);
  },
});

const server = http.createServer(statefun.handler());
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT || 0), "127.0.0.1", () => {
  console.log(server.address().port);
});
