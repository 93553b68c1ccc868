import type { Runner, Turn, TurnEnd } from "../../core/index.ts";
import type { RoomDefinition } from "../../rooms/index.ts";

/** A member of a test's room. */
export interface TestMember {
  readonly handle: string;
  /** What it answers to each post that is for it; or its turn, played by the test. Default `ok`. null for a person. */
  readonly runner?: string | Runner | ((turn: Turn) => TurnEnd | Promise<TurnEnd>) | null | undefined;
}

/** A real room of a test host, with a log in memory. Nobody speaks twice to one post. */
export interface TestRoom {
  readonly room_id: string;
  readonly members: readonly TestMember[];
}

export function roomOf({ room_id, members }: TestRoom): RoomDefinition {
  return {
    room_id,
    policy: { maxRounds: 1, maxOwedPasses: 0 },
    members: members.map(({ handle, runner = "ok" }) => ({ handle, runner: runnerOf(runner) })),
  };
}

function runnerOf(runner: NonNullable<TestMember["runner"]> | null): Runner | null {
  if (runner === null || (typeof runner === "object" && "run" in runner)) return runner;
  const run = typeof runner === "string" ? saying(runner) : async (turn: Turn) => runner(turn);
  return { kind: "test", run, close: async () => undefined };
}

function saying(text: string): Runner["run"] {
  return async (turn) => {
    turn.emit({ type: "message.delta", payload: { text } });
    return { status: "completed" };
  };
}
