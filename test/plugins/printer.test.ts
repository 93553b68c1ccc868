import { expect, it } from "vitest";
import { activityEventSchema, type ActivityEvent } from "../../core/index.ts";
import { eventText, PluginHost, printer } from "../../plugins/index.ts";
import { openBus, secret, type Bus } from "../support/bus.ts";

async function print(play: (bus: Bus) => void) {
  const bus = openBus();
  const host = new PluginHost({
    observers: bus.observers,
    clock: bus.clock,
    report: (notice) => bus.notices.push(notice),
  });
  const lines: string[] = [];
  await host.load({
    plugin: printer({ write: (line) => lines.push(line) }),
    grants: ["reasoning", "approvals", "full"],
  });
  const watcher = bus.watch({ payload: "full" });
  play(bus);
  await bus.idle();
  return { lines, events: watcher.events };
}

it("prints each event as the JSON that JSON.stringify gives, whole", async () => {
  const long = "long ".repeat(10_000);
  const { lines, events } = await print((bus) => {
    const attempt = bus.start();
    bus.reason(attempt, "hm");
    bus.delta(attempt, 'quotes " and \u2028 breaks\n');
    bus.emit(attempt, "tool.start", { tool_id: "c", name: "read", args: { path: long } });
    void bus.tap.requests.ask(attempt, { method: "approval", params: { command: "make", choices: ["once", "deny"] } });
    bus.settle(attempt);
  });
  expect(lines).toEqual(events.map((event) => JSON.stringify(event)));
  expect(lines.length).toBe(8);
  expect(lines[3]).toContain(long);
  for (const line of lines) expect(activityEventSchema.parse(JSON.parse(line))).toBeDefined();
});

it("prints a gap that names no attempt like any other event", () => {
  const coordinates = null;
  const gap = {
    v: 1,
    coordinates,
    kind: "gap",
    n: null,
    seq: null,
    at: 1,
    payload: { dropped: 1 },
  } as unknown as ActivityEvent;
  expect(eventText(gap)).toBe(JSON.stringify(gap));
});

it("prints no secret", async () => {
  const { lines } = await print((bus) => {
    const attempt = bus.start();
    bus.delta(attempt, secret.slice(0, 9));
    bus.delta(attempt, secret.slice(9));
    bus.emit(attempt, "tool.start", { tool_id: "c", name: "read", args: { token: "short", text: secret } });
    bus.settle(attempt);
  });
  expect(lines.join("\n")).not.toContain(secret);
  expect(lines.join("\n")).not.toContain("short");
});
