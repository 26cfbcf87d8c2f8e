import { expect, test } from "vitest";
import { bytes, count, percent, rate, short } from "../src/format/numbers";

test.each([
  [null, "–"], [Number.NaN, "–"], [0, "0"], [7, "7"], [3.2, "3.20"], [12.345, "12.3"], [999.4, "999"],
  [999.7, "1.00k"], [18_391, "18.4k"], [-2_500_000, "-2.50M"], [4.2e12, "4.20T"],
])("%s is %s", (value, text) => expect(short(value)).toBe(text));

test("a number with all its digits", () => expect(count(1234567.8)).toBe("1,234,568"));

test("bytes in powers of two, never 1024 of a unit", () => {
  expect([0, 1023, 1024, 1_048_575, 5 * 1024 ** 3].map(bytes)).toEqual(["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "5.00 GiB"]);
});

test("rates and shares", () => {
  expect([rate(undefined), rate(12.4), percent(0.934), percent(null)]).toEqual(["–", "12.4/s", "93 %", "–"]);
});
