import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Runner } from "../../../core/index.ts";
import { fakeTurn } from "../../support/fake-turn.ts";

/** Posts that make a runner's member behave as each question needs it. */
export interface ContractPosts {
  /** Streams "Hello " and "room", and ends. */
  readonly streams: string;
  /** Starts tool `t1` (`read_file`), ends it, and ends the turn. */
  readonly usesTool: string;
  /** Asks for approval of a command, then streams "on". */
  readonly asks: string;
  /** Streams "waiting" and goes on until it is stopped. */
  readonly waits: string;
  /** Streams "x" and loses what runs the turn. */
  readonly dies: string;
  /** Ends with a fault of its own. */
  readonly fails: string;
}

/** The questions that each runner must answer right. */
export function runnerContract(name: string, open: () => Runner, posts: ContractPosts): void {
  describe(`the runner contract, ${name}`, () => {
    let runner: Runner;
    beforeEach(() => {
      runner = open();
    });
    afterEach(() => runner.close());

    it("streams text and completes with what it streamed", async () => {
      const turn = fakeTurn({ post: posts.streams });
      const end = await runner.run(turn);
      expect(end).toMatchObject({ status: "completed" });
      expect(turn.text).toBe("Hello room");
    });

    it("starts and ends a tool call under one id", async () => {
      const turn = fakeTurn({ post: posts.usesTool });
      await runner.run(turn);
      const tools = turn.frames.filter((frame) => frame.type.startsWith("tool."));
      expect(tools).toMatchObject([
        { type: "tool.start", payload: { tool_id: "t1", name: "read_file" } },
        { type: "tool.complete", payload: { tool_id: "t1", outcome: "ok" } },
      ]);
    });

    it.each(["once", "deny"])("goes on after an approval is answered %s", async (choice) => {
      const turn = fakeTurn({ post: posts.asks, choice });
      expect(await runner.run(turn)).toMatchObject({ status: "completed" });
      expect(turn.questions).toMatchObject([{ method: "approval", params: { command: "rm -rf build" } }]);
      expect(turn.questions[0]?.params["choices"]).toEqual(expect.arrayContaining(["once", "deny"]));
      expect(turn.text).toMatch(/on$/);
    });

    it("goes on after an approval expired", async () => {
      const turn = fakeTurn({ post: posts.asks, outcome: "expired" });
      expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    });

    it("is cancelled without a frame when stopped before it began", async () => {
      const turn = fakeTurn({ post: posts.streams });
      turn.stop();
      expect(await runner.run(turn)).toEqual({ status: "cancelled" });
      expect(turn.frames).toEqual([]);
    });

    it("C-005 is cancelled when stopped while it works", async () => {
      const turn = fakeTurn({ post: posts.waits });
      const running = runner.run(turn);
      await turn.seen((frame) => frame.payload?.["text"] === "waiting");
      turn.stop();
      expect(await running).toEqual({ status: "cancelled" });
    });

    it("C-005 is cancelled when stopped while it asks", async () => {
      const turn = fakeTurn({ post: posts.asks });
      const running = runner.run(turn);
      await turn.asked();
      turn.stop();
      expect(await running).toEqual({ status: "cancelled" });
    });

    it("tells turns that run side by side apart", async () => {
      const one = fakeTurn({ post: posts.waits, member: "m-one" });
      const two = fakeTurn({ post: posts.streams, member: "m-two" });
      const running = runner.run(one);
      await one.seen(() => true);
      await runner.run(two);
      one.stop();
      await running;
      expect([one.text, two.text]).toEqual(["waiting", "Hello room"]);
    });

    it("C-005 tells a fault of its own as runner_error", async () => {
      const end = await runner.run(fakeTurn({ post: posts.fails }));
      expect(end).toMatchObject({ status: "failed", reason_code: "runner_error" });
    });

    it("is lost with what runs it, and runs the next turn", async () => {
      const lost = fakeTurn({ post: posts.dies });
      expect(await runner.run(lost)).toMatchObject({ status: "failed", reason_code: "runner_lost" });
      expect(lost.text).toBe("x");
      const next = fakeTurn({ post: posts.streams });
      expect(await runner.run(next)).toMatchObject({ status: "completed" });
    });

    it("loses what runs when it is closed, and admits nothing more", async () => {
      const turn = fakeTurn({ post: posts.waits });
      const running = runner.run(turn);
      await turn.seen(() => true);
      await Promise.all([runner.close(), runner.close()]);
      expect(await running).toMatchObject({ status: "failed", reason_code: "runner_lost" });
      expect(await runner.run(fakeTurn())).toMatchObject({ status: "failed", reason_code: "not_admitted" });
    });
  });
}
