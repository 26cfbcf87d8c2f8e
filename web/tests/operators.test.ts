import { expect, test } from "vitest";
import { described, linesOf, telling } from "../src/model/operators";

const operator = (description: string, name = "Calc[2]") => ({ uid: description, name, description });

test("a description is taken apart, whatever brackets and commas its values have", () => {
  const { kind, attributes } = described(operator("Calc(select=[id, f(a, ']=[') AS b], where=[(tags[1] = 'x]')])"));
  expect(kind).toBe("Calc");
  expect(attributes).toEqual([["select", "id, f(a, ']=[') AS b"], ["where", "(tags[1] = 'x]')"]]);
});

test.each(["", "Map", "Calc(select=[id", "Map(f)", "Calc(select=[a] where=[b])"])("%s is only a name", (text) => {
  const found = described(operator(text, "score"));
  expect(found).toEqual({ uid: text, kind: text || "score", attributes: [] });
});

test("keys and conditions come before the select list", () => {
  const found = described(operator("GroupAggregate(select=[SUM(a)], groupBy=[k])"));
  expect(telling(found).map(([name]) => name)).toEqual(["groupBy", "select"]);
});

test("one operator has a line for each attribute, several have one each", () => {
  const calc = operator("Calc(select=[id], where=[(id > 3)])");
  expect(linesOf([calc, operator("")])).toEqual(["where (id > 3)", "select id"]);
  expect(linesOf([calc, operator("Sink(table=[t], fields=[id])")])).toEqual(["Calc: where (id > 3), select id", "Sink: table t, fields id"]);
  expect(linesOf(Array(5).fill(calc))).toHaveLength(3);
  expect(linesOf(Array(5).fill(calc)).at(-1)).toBe("and 3 more operators");
  expect(linesOf([operator("")])).toEqual([]);
});
