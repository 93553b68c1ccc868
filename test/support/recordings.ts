import { readFileSync } from "node:fs";
import type { ActivityEvent, Coordinates, EventOf } from "../../core/index.ts";
import type { RecordingHeader } from "../../plugins/index.ts";

export const recordedCoordinates: Coordinates = {
  room_id: "r1",
  thread_id: "main",
  member_id: "m-a",
  turn_id: "t-1",
  task_id: "k-1",
  execution_generation: 1,
};

/** A delta of one attempt, with a text of so many characters. */
export function deltaOf(n: number, units = 4): ActivityEvent {
  const payload = { text: "x".repeat(units), offset: (n - 1) * units };
  return { v: 1, coordinates: recordedCoordinates, kind: "message.delta", n, seq: n, at: 1_000 + n, payload };
}

export function gapOf(dropped: number): EventOf<"gap"> {
  return {
    ...{ v: 1, coordinates: recordedCoordinates, kind: "gap", n: null, seq: null, at: 2_000 },
    payload: {
      dropped,
      withheld: 0,
      first_n: 1,
      last_n: dropped,
      kinds: { "message.delta": dropped },
      reason: "overflow",
    },
  };
}

export const recordingHeader: RecordingHeader = {
  roomtap_recording: 1,
  started_at: 1_764_512_345_678,
  host: { version: "0.1.0" },
  options: { rooms: null, payload: "standard" },
};

/** Lines of a file, without their ends. */
export function fileLines(path: string): readonly string[] {
  const text = readFileSync(path, "utf8");
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
