import { expect, test } from "vitest";
import { spanned } from "../src/model/measurements";

test("a chart of one measurement has a minute before it, and one of more has the ends that are given", () => {
  expect(spanned([1000], 1000, 87_400)).toEqual([940, 1000]);
  expect(spanned([1000, 1007], 1000, 1007)).toEqual([1000, 1007]);
  expect(spanned([], 0, 100)).toEqual([0, 100]);
});
