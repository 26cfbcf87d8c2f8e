import { expect, test } from "vitest";
import { spanned } from "../src/model/measurements";

test("a chart of one measurement has a minute before it, and one of more ends with them", () => {
  expect(spanned(1000, 1000)).toEqual([940, 1000]);
  expect(spanned(1000, 1007)).toEqual([1000, 1007]);
  expect(spanned(null, null)).toEqual([null, null]);
});
