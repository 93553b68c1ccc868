import { describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../core/index.ts";
import { eventsOf, gate, numbersOf, openBus, upTo, type Watcher } from "../support/bus.ts";

/** A handler that waits for ever. */
const blocked = (): Promise<void> => gate().opened;

/** What a handler of another make may return: something with a `then` of its own. */
function thenable(then: unknown): object {
  // oxlint-disable-next-line unicorn/no-thenable -- that it is none of ours is the point
  return { then };
}

describe("handlers that misbehave", () => {
  it("C-062 are counted each in its own way and change nothing for the turn and for others", async () => {
    const bus = openBus();
    const healthy = bus.watch();
    const watchers = {
      throws: bus.watch({
        id: "throws",
        handler: () => {
          throw new Error("no");
        },
      }),
      rejects: bus.watch({ id: "rejects", handler: () => Promise.reject(new Error("no")) }),
      nonsense: bus.watch({ id: "nonsense", handler: () => thenable("no function") }),
      hangs: bus.watch({ id: "hangs", handler: blocked }),
    };
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    void bus.tap.requests.ask(attempt, { method: "approval", params: { tool_id: "t" } });
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "once" }, null);
    bus.emit(attempt, "tool.complete", { tool_id: "t", outcome: "ok" });
    for (let k = 0; k < 4; k++) bus.delta(attempt, "m");
    const { text } = bus.settle(attempt);
    await bus.idle();
    bus.clock.advance(30_000);
    await bus.idle();
    const none = { thrown: 0, rejected: 0, stalled: 0 };
    const failures = Object.fromEntries(Object.entries(watchers).map(([id, each]) => [id, each.stats().failures]));
    expect(failures).toEqual({
      throws: { ...none, thrown: 10 },
      rejects: { ...none, rejected: 10 },
      nonsense: none,
      hangs: { ...none, stalled: 1 },
    });
    expect([text, numbersOf(healthy.events)]).toEqual(["mmmm", upTo(10)]);
    expect(bus.notices.map(({ code, subject, message }) => [code, subject, message])).toEqual([
      ["handler_threw", "throws", "consumer throws: its handler threw: no"],
      ["handler_rejected", "rejects", "consumer rejects: its handler rejected: no"],
      ["stalled", "hangs", "consumer hangs: a call of its handler has run for longer than stallMs"],
    ]);
  });

  it("C-063 silence nobody: a thrower misses its own event, and what a handler emits comes once, behind", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const say = (watcher: Watcher): string =>
      eventsOf(watcher.events, "message.delta")
        .map(({ payload }) => payload.text)
        .join("");
    const isSecond = (event: ActivityEvent): boolean => event.kind === "message.delta" && event.payload.text === "2";
    const a = bus.watch({
      handler: (event) => {
        if (isSecond(event)) throw new Error("a");
      },
    });
    const b = bus.watch();
    const c = bus.watch({ handler: (event) => void (isSecond(event) && bus.delta(attempt, "m")) });
    for (const text of ["1", "2", "3"]) bus.delta(attempt, text);
    bus.clock.tick();
    for (const text of ["4", "5"]) bus.delta(attempt, text);
    await bus.idle();
    expect([say(a), say(b), say(c)]).toEqual(["123m45", "123m45", "123m45"]);
    expect(a.stats()).toMatchObject({ delivered: 6, failures: { thrown: 1 } });
  });

  it("settle once, however often their thenable does", async () => {
    const bus = openBus();
    let running = 0;
    let most = 0;
    const attempt = bus.begin();
    const watcher = bus.watch({
      handler: () => {
        most = Math.max(most, ++running);
        const after = (resolve: () => void): void => {
          running--;
          resolve();
          resolve();
        };
        return thenable((resolve: () => void) => bus.clock.defer(() => after(resolve)));
      },
    });
    const broken = bus.watch({
      handler: () =>
        thenable(() => {
          throw new Error("no");
        }),
    });
    for (let k = 0; k < 5; k++) bus.delta(attempt, "m");
    await bus.idle();
    expect([watcher.stats().delivered, most]).toEqual([5, 1]);
    expect(broken.stats()).toMatchObject({ delivered: 5, running: 0, failures: { rejected: 5 } });
  });

  it("C-066 can change neither what others see nor what was queued", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const faults: unknown[] = [];
    bus.watch({
      handler: (event) => {
        const args = (event.payload as unknown as { args: { cmd: string; list: number[] } }).args;
        for (const change of [
          () => (args.cmd = "rm"),
          () => args.list.push(9),
          () => delete (event as { n?: unknown }).n,
        ]) {
          try {
            change();
          } catch (fault) {
            faults.push(fault);
          }
        }
      },
    });
    const b = bus.watch();
    const queued = bus.watch({ maxEvents: 1 });
    bus.emit(attempt, "tool.start", { tool_id: "t", args: { cmd: "ls", list: [1] } });
    await bus.idle();
    expect(faults).toEqual([expect.any(TypeError), expect.any(TypeError), expect.any(TypeError)]);
    const payload = { tool_id: "t", name: "t", args: { cmd: "ls", list: [1] } };
    expect([b.events[0]?.payload, queued.events[0]?.payload, b.events[0]?.n]).toEqual([payload, payload, 1]);
  });

  it("are timed with every 64th call", async () => {
    const bus = openBus();
    const watcher = bus.watch({ handler: () => bus.clock.advance(3) });
    expect(watcher.stats().handler_ms).toBe(null);
    const attempt = bus.begin();
    for (let k = 0; k < 65; k++) bus.delta(attempt, "m");
    await bus.idle();
    // Buckets double from 1 us: 3 ms lie in the one that ends at 4.096 ms.
    expect(watcher.stats().handler_ms).toEqual({ p50: 4.096, p99: 4.096 });
  });
});
