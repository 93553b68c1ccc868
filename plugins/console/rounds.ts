import type { ActivityEvent } from "../../core/index.ts";
import type { ConsumerOptions } from "../../observers/index.ts";
import type { Room } from "../../rooms/index.ts";
import { demoRoomId, roundsTexts } from "./demo.ts";

/** What a scene is played on. */
export interface SceneHost {
  room(roomId: string): Room;
  observe(options: ConsumerOptions): unknown;
  quiet(): Promise<void>;
}

/** A discussion of two rounds that ends by itself, then a turn that is stopped while it works. */
export async function playRounds(host: SceneHost): Promise<void> {
  const room = host.room(demoRoomId);
  await room.post({ text: roundsTexts.draft });
  await host.quiet();
  const started = new Promise<void>((resolve) => {
    host.observe({ id: "rounds", kinds: ["tool.started"], handler: () => resolve() });
  });
  await room.post({ text: roundsTexts.watch });
  await started;
  await room.stop();
}

/** How a turn failed, in words; none of an event that tells of none. */
export function failuresOf(event: ActivityEvent): readonly string[] {
  if (event.kind !== "turn.settled") return [];
  const { status, reason_code } = event.payload;
  const isRight = status === "completed" || status === "passed" || reason_code === "stopped";
  return isRight ? [] : [`${status} (${reason_code ?? "no reason"})`];
}
