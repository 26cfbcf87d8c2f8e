// The greeter: it knows what to say, and when it was last said.
"use strict";

const http = require("http");
const { StateFun, egressMessageBuilder } = require("apache-flink-statefun");

const statefun = new StateFun();
const Visit = StateFun.jsonType("example/visit");
const EgressRecord = StateFun.jsonType("io.statefun.playground/EgressRecord");
const WORDS = ["Welcome", "Nice to see you again", "Third time lucky"];

statefun.bind({
  typename: "example/greeter",
  specs: [{ name: "last", type: StateFun.stringType() }],
  fn(context, message) {
    const { name, number } = message.as(Visit);
    const words = WORDS[number - 1] ?? `Hello for the ${number}th time`;
    const before = context.storage.last ? ` (before: ${context.storage.last})` : "";
    context.storage.last = words;
    context.send(
      egressMessageBuilder({
        typename: "io.statefun.playground/egress",
        value: { topic: "greetings", payload: `${words}, ${name}!${before}` },
        valueType: EgressRecord,
      }),
    );
  },
});

http.createServer(statefun.handler()).listen(Number(process.argv[2] ?? 8000), "127.0.0.1");
