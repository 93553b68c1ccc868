import { expect, it } from "vitest";
import { counted } from "../../plugins/index.ts";

it.each([
  [0, "0 rows"],
  [1, "1 row"],
  [2, "2 rows"],
])("%i is counted as %s", (count, text) => {
  expect(counted(count, "row")).toBe(text);
});
