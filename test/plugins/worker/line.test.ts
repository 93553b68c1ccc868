import { MessageChannel, type MessagePort } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { limits, RoomtapError } from "../../../core/index.ts";
import { Line, type Served } from "../../../plugins/worker/line.ts";
import { guestSide, hostSide, type GuestSide, type HostSide } from "../../../plugins/worker/messages.ts";
import { reaches } from "../../support/plugin-files.ts";

interface Ends {
  readonly host: Line<HostSide, GuestSide>;
  readonly guest: Line<GuestSide, HostSide>;
  readonly raw: MessagePort;
  readonly broken: string[];
}

function openLine(guestServes: Partial<Served<GuestSide>> = {}, hostServes: Partial<Served<HostSide>> = {}): Ends {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const broken: string[] = [];
  const onBroken = (why: string): void => void broken.push(why);
  const host = new Line({ port: port1, mine: hostSide, theirs: guestSide, maxCallBytes: Infinity, onBroken });
  const guest = new Line({ port: port2, mine: guestSide, theirs: hostSide, maxCallBytes: 1_000, onBroken });
  host.serve(hostServes as Served<HostSide>);
  guest.serve(guestServes as Served<GuestSide>);
  return { host, guest, raw: port2, broken };
}

describe("a line", () => {
  it("gives what the other side gives, and throws what it throws, code and stack included", async () => {
    const { host, guest } = openLine(
      { load: () => ({ id: "p", version: "1", manifest: { any: "thing" } }) },
      {
        keys: () => {
          throw new RoomtapError("quota_exceeded", "too much");
        },
        stats: () => Promise.reject(new TypeError("no stats")),
      },
    );
    expect(await host.call("load", { file: "f" })).toEqual({ id: "p", version: "1", manifest: { any: "thing" } });
    const fault = await guest.call("keys", { prefix: "" }).catch((reason: unknown) => reason);
    expect(fault).toBeInstanceOf(RoomtapError);
    expect(fault).toMatchObject({ code: "quota_exceeded", message: "too much" });
    await expect(guest.call("stats", undefined)).rejects.toMatchObject({
      message: "no stats",
      stack: expect.stringContaining("line.test.ts") as string,
    });
  });

  it("refuses what cannot be cloned or is too large, where it is sent", async () => {
    const { guest, host } = openLine();
    const invalid = { code: "invalid_params" };
    await expect(guest.call("answer", { id: "x", answer: { f: () => 1 } })).rejects.toMatchObject(invalid);
    await expect(guest.call("keys", { prefix: "x".repeat(1_001) })).rejects.toMatchObject(invalid);
    expect([guest.waiting, host.waiting]).toEqual([0, 0]);
  });

  it("carries so many calls at a time, and one more is refused", async () => {
    const { host } = openLine({ ready: () => new Promise(() => undefined) });
    const calls = Array.from({ length: limits.maxWorkerCalls }, () =>
      host.call("ready", undefined).catch(() => "closed"),
    );
    await expect(host.call("ping", undefined)).rejects.toMatchObject({ code: "too_many_calls" });
    host.close(new RoomtapError("closed", "over"));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["closed"]));
  });

  it("answers open calls of both sides when it is closed, and takes no more", async () => {
    const aborted = vi.fn<() => void>();
    let hasTheirs = false;
    const { host, guest } = openLine(
      { ready: () => new Promise(() => undefined) },
      {
        stats: (_, signal) => {
          hasTheirs = true;
          signal.addEventListener("abort", aborted);
          return new Promise(() => undefined);
        },
      },
    );
    const ours = host.call("ready", undefined);
    const theirs = guest.call("stats", undefined);
    ours.catch(() => undefined);
    theirs.catch(() => undefined);
    await reaches(() => hasTheirs);
    host.close(new RoomtapError("closed", "over"));
    host.close(new RoomtapError("internal", "twice"));
    await expect(ours).rejects.toMatchObject({ code: "closed", message: "over" });
    await expect(theirs).rejects.toMatchObject({ code: "closed", message: "over" });
    await expect(host.call("ping", undefined)).rejects.toMatchObject({ code: "closed" });
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  it("tells the other side that nobody waits any more", async () => {
    const seen: string[] = [];
    const { host } = openLine({
      command: (_, signal) => {
        seen.push("called");
        signal.addEventListener("abort", () => seen.push("aborted"));
        return new Promise(() => undefined);
      },
    });
    const controller = new AbortController();
    const caller = { principal: "ada", scopes: [], rooms: null, grants: [] };
    const call = host.call("command", { registration: 1, args: [], caller }, controller.signal);
    call.catch(() => undefined);
    await reaches(() => seen.length === 1);
    controller.abort(new Error("gone"));
    await expect(call).rejects.toThrow("gone");
    await reaches(() => host.waiting === 0);
    expect(seen).toEqual(["called", "aborted"]);
  });

  it("is answered at once when a call is aborted, whatever its code does: any number of calls may be left", async () => {
    let called = 0;
    const { host, broken } = openLine({
      pull: () => (called++, new Promise(() => undefined)),
      ping: () => undefined,
    });
    for (let round = 1; round <= 3; round++) {
      const controller = new AbortController();
      const calls = Array.from({ length: limits.maxWorkerCalls }, () =>
        host.call("pull", { body: 1 }, controller.signal).catch(() => "left"),
      );
      await reaches(() => called === round * limits.maxWorkerCalls);
      controller.abort();
      expect(new Set(await Promise.all(calls))).toEqual(new Set(["left"]));
      // Until the other side has confirmed it, they count.
      await expect(host.call("ping", undefined)).rejects.toMatchObject({ code: "too_many_calls" });
      await reaches(() => host.waiting === 0);
    }
    await host.call("ping", undefined);
    expect(broken).toEqual([]);
  });

  it("hands an answer that crosses the abort to who can end what it opened", async () => {
    let answer: (value: { stream: number }) => void = () => undefined;
    const { host } = openLine({ request: () => new Promise((resolve) => (answer = resolve)) });
    const controller = new AbortController();
    const late: unknown[] = [];
    const asked = { registration: 1, request: {} as never };
    const call = host.call("request", asked, controller.signal, (value) => late.push(value));
    call.catch(() => undefined);
    const given = answer;
    await reaches(() => answer !== given);
    answer({ stream: 7 });
    await Promise.resolve().then(() => controller.abort(new Error("gone")));
    await expect(call).rejects.toThrow("gone");
    await reaches(() => host.waiting === 0);
    expect(late).toEqual([{ stream: 7 }]);
  });

  it.each([
    ["no message", 7, "a message that is none"],
    ["an unknown field", { type: "abort", call: 1, more: 1 }, "a message that is none"],
    [
      "an unknown method",
      { type: "call", call: 1, method: "constructor", params: {} },
      "a call that is none: constructor",
    ],
    ["wrong params", { type: "call", call: 1, method: "keys", params: {} }, "a call that is none: keys"],
    ["an unknown note", { type: "note", note: "toString", params: {} }, "a note that is none: toString"],
    ["a wrong note", { type: "note", note: "end", params: { registration: 0 } }, "a note that is none: end"],
  ])("is broken by %s, once, and takes nothing more", async (_, message, why) => {
    const { raw, broken } = openLine();
    raw.postMessage(message);
    raw.postMessage(message);
    await reaches(() => broken.length > 0);
    expect(broken).toEqual([expect.stringContaining(why)]);
  });

  it("is broken by an answer that is none, and whoever waits is told", async () => {
    const { host, broken } = openLine({ load: () => ({ id: 7 }) as never });
    await expect(host.call("load", { file: "f" })).rejects.toMatchObject({ code: "plugin_failed" });
    expect(broken).toEqual([expect.stringContaining("an answer that is none")]);
  });

  it("does not mind an answer to a call that nobody waits for", async () => {
    const { host, raw, broken } = openLine({ ping: () => undefined });
    raw.postMessage({ type: "answer", call: 99, value: 1 });
    raw.postMessage({ type: "refusal", call: 98, fault: { code: null, message: "m" } });
    await host.call("ping", undefined);
    expect(broken).toEqual([]);
  });
});
