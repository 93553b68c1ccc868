import { describe, expect, it } from "vitest";
import type { Runner } from "../../../core/index.ts";
import { HeldRunner } from "../../support/held-runner.ts";
import { openSessions, type OpenSessions } from "../../support/open-sessions.ts";

/** A held runner whose turns may be run again. */
class SafeRunner extends HeldRunner {
  readonly rerun = "safe";
}

/** What a host leaves that dies while a turn of `c-a` runs and a prompt of `c-b` waits. */
async function left(waiting = true): Promise<OpenSessions & { readonly id: string }> {
  const dead = openSessions();
  const live = await dead.create();
  await dead.submit(live, "first");
  if (waiting) await dead.submit(live, { text: "next", queued: true }, "c-b");
  return Object.assign(dead, { id: live.record.session_id });
}

/** A new host, on what is stored at this moment. */
const after = ({ store }: OpenSessions, runner?: Runner) =>
  openSessions(runner === undefined ? { store } : { store, runner });

describe("a turn that a dead host left", () => {
  it("C-028 is told as ended when the session is resumed", async () => {
    const dead = await left(false);
    const turn_id = dead.store.row(dead.id).unfinished?.turn_id;
    const sessions = after(dead);
    const live = await sessions.resume(dead.id);
    await sessions.settle();
    expect(await live.snapshot()).toMatchObject({
      running: false,
      status: "idle",
      inflight: null,
      last_turn: { turn_id, status: "abandoned", reason_code: "host_lost" },
    });
    expect(sessions.events()).toEqual([]);
    expect(dead.store.row(dead.id).unfinished).toBeNull();
  });

  it("is followed by what waited, under its own origin", async () => {
    const dead = await left();
    const sessions = after(dead);
    await sessions.resume(dead.id);
    await sessions.say(0, "done");
    expect(sessions.events("message.start", "message.complete").map(({ type, origin }) => [type, origin])).toEqual([
      ["message.start", "c-b"],
      ["message.complete", "c-b"],
    ]);
    expect((await sessions.turn(0)).turn.unseen[0]?.text).toBe("next");
  });

  it("is begun three times at most, and then what waits runs", async () => {
    let dead: OpenSessions = await left();
    const [id] = [(dead as OpenSessions & { readonly id: string }).id];
    for (const attempts of [2, 3]) {
      const sessions = after(dead, new SafeRunner());
      await sessions.resume(id);
      expect(sessions.store.row(id).unfinished).toMatchObject({ prompt: { text: "first" }, attempts });
      dead = sessions;
    }
    const runner = new SafeRunner();
    const sessions = after(dead, runner);
    const live = await sessions.resume(id);
    const { turn } = await runner.turn(0);
    expect(turn.unseen.map(({ text }) => text)).toEqual(["next"]);
    expect(live.record.last_turn).toMatchObject({ status: "abandoned", reason_code: "host_lost" });
  });

  it("W16 is run again as auto_continue when that is safe", async () => {
    const dead = await left();
    const runner = new SafeRunner();
    const sessions = after(dead, runner);
    const live = await sessions.resume(dead.id);
    expect(live.status).toBe("resuming");
    const { turn, say } = await runner.turn(0);
    expect([turn.unseen.map(({ text }) => text), turn.earlier]).toEqual([["first"], []]);
    say("done");
    await sessions.settle();
    const own = sessions.events().filter((event) => event.turn?.id === turn.turn_id);
    expect(own.map(({ type, origin, turn: mark }) => [type, origin, mark?.source])).toEqual(
      ["message.start", "session.info", "message.delta", "message.complete"].map((type) => [
        type,
        "auto_continue",
        { kind: "auto_continue" },
      ]),
    );
    expect(own[0]?.payload?.["input"]).toBeNull();
    expect(sessions.events("message.start")[1]?.origin).toBe("c-b");
    expect(sessions.store.transcript(dead.id)).toEqual(["user: first", "assistant: done", "user: next"]);
  });

  it("leaves the session as it was when the store refuses to take it up", async () => {
    const dead = await left();
    const sessions = after(dead);
    dead.store.refuses = "log_full";
    await expect(sessions.resume(dead.id)).rejects.toMatchObject({ code: "log_full" });
    dead.store.refuses = null;
    const live = await sessions.resume(dead.id);
    expect([sessions.host.live, live.record.last_turn?.status]).toEqual([[live], "abandoned"]);
  });
});

describe("a session that is closed while a turn runs", () => {
  it("keeps its partial text, and runs what waits when it is resumed", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "first");
    await sessions.submit(live, { text: "next", queued: true }, "c-b");
    const { turn, end } = await sessions.turn(0);
    turn.emit({ type: "message.delta", payload: { text: "ab" } });
    const closed = sessions.host.close(live, "owner_left");
    end({ status: "cancelled" });
    await closed;
    expect(sessions.payloads("message.complete")).toMatchObject([{ status: "interrupted", text: "ab" }]);
    expect(sessions.store.transcript(live.record.session_id)).toEqual(["user: first", "assistant: ab"]);
    await sessions.settle();
    expect(sessions.events("message.start")).toHaveLength(1);
    await sessions.resume(live.record.session_id);
    await sessions.say(1, "done");
    expect(sessions.events("message.start")[1]?.origin).toBe("c-b");
  });

  it("W40 withdraws its questions with the word for it, and nobody else's", async () => {
    const sessions = openSessions();
    const [one, two] = [await sessions.create(), await sessions.create()];
    for (const [index, live] of [one, two].entries()) {
      await sessions.submit(live, "first");
      void (await sessions.turn(index)).turn.ask({ method: "approval", params: { command: `rm ${index}` } });
    }
    const open = sessions.bus.tap.requests.open();
    void sessions.host.close(one, "closed", 0);
    await sessions.pass(0);
    expect(sessions.payloads("request.cancel")).toEqual([
      { id: open[0]?.id, method: "approval", reason: "session_closed" },
    ]);
    expect(sessions.bus.tap.requests.open().map(({ id }) => id)).toEqual([open[1]?.id]);
  });

  it("W40 interrupted withdraws its own questions only", async () => {
    const sessions = openSessions();
    const [one, two] = [await sessions.create(), await sessions.create()];
    for (const [index, live] of [one, two].entries()) {
      await sessions.submit(live, "first");
      void (await sessions.turn(index)).turn.ask({ method: "approval", params: { command: `rm ${index}` } });
    }
    expect(one.status).toBe("waiting");
    expect(one.interrupt("t-other").result).toEqual({ status: "not_interrupted" });
    const { result, begin } = one.interrupt(one.turnId ?? "");
    begin();
    expect(result).toEqual({ status: "interrupted" });
    expect(sessions.payloads("request.cancel")).toMatchObject([{ reason: "interrupted" }]);
    expect(sessions.bus.tap.requests.open()).toHaveLength(1);
  });

  it("interrupts a turn that was claimed and not begun", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await live.submit({ text: "first" }, "c-a");
    await sessions.host.close(live, "closed");
    expect(sessions.events("message.start", "message.complete").map(({ type }) => type)).toEqual([
      "message.start",
      "message.complete",
    ]);
    expect(sessions.held.turns).toHaveLength(0);
  });
});
