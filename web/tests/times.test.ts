import { expect, test } from "vitest";
import { clock, duration, latency, moment, since } from "../src/format/times";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each([
  [null, "–"], [0, "0 ms"], [999, "999 ms"], [4_660, "4.7 s"], [59_900, "59 s"], [MINUTE, "1 m"], [65_000, "1 m 5 s"],
  [HOUR + 61_000, "1 h 1 m"], [53 * HOUR, "2 d 5 h"], [-1_500, "-1.5 s"],
])("%s ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

test.each([[null, "–"], [0.351, "0.35 ms"], [4.66, "4.7 ms"], [12.3, "12 ms"], [1_500, "1.5 s"]])(
  "a latency of %s ms is %s", (ms, text) => expect(latency(ms)).toBe(text),
);

test("an age is never negative", () => expect([since(1_500, 1_000), since(null, 1), since(0, 1)]).toEqual(["0 ms", "–", "–"]));

test("a time without its day on that day", () => {
  const time = new Date(2026, 10, 4, 9, 5, 7).getTime();
  expect(moment(time)).toBe("4 Nov 2026, 09:05:07");
  expect(clock(time, time + HOUR)).toBe("09:05:07");
  expect(clock(time, time + 24 * HOUR)).toBe("4 Nov 2026, 09:05:07");
  expect(moment(-1)).toBe("–");
});
