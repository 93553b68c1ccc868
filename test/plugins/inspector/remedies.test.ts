import { expect, it } from "vitest";
import type { LinkReason } from "../../../plugins/client/index.ts";
import { remedyOf } from "../../../plugins/inspector/remedies.ts";

it.each<readonly [LinkReason, number | null, RegExp | undefined]>([
  ["unreachable", null, /that the server runs there/],
  ["closed_by_server", 4401, /--token or ROOMTAP_TOKEN/],
  ["closed_by_server", 4403, /allowedHosts/],
  ["closed_by_server", 4429, /Wait/],
  ["closed_by_server", 1006, undefined],
  ["dropped", null, /may have been done/],
  ["closed", null, undefined],
])("what to do about %s %s", (reason, closeCode, remedy) => {
  const given = remedyOf({ reason, closeCode });
  if (remedy === undefined) expect(given).toBeUndefined();
  else expect(given).toMatch(remedy);
});
