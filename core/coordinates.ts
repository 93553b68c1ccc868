import { z } from "zod";

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/**
 * Ids of rooms, threads, members, messages and events: 1 to 128 ASCII characters, the first one a letter or a digit.
 * So they hold no control characters, and `__proto__` is none; `constructor` is a name like any other.
 */
export const idSchema = z.string().regex(idPattern, {
  message: "expected 1 to 128 of A-Z a-z 0-9 . _ : - beginning with a letter or a digit",
});

/** Whether `idSchema` takes the value, at a tenth of its cost: for rows, which are read by the hundred thousand. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && idPattern.test(value);
}

/** Where an event belongs: one execution of one task of one member in one thread of one room. All six, always. */
export interface Coordinates {
  readonly room_id: string;
  readonly thread_id: string;
  readonly member_id: string;
  readonly turn_id: string;
  readonly task_id: string;
  /** Counts the attempts of a task: 1, 2, ... */
  readonly execution_generation: number;
}

/** Coordinates read back from outside. Strict: a seventh field is damage. */
export const coordinatesSchema = z.strictObject({
  room_id: idSchema,
  thread_id: idSchema,
  member_id: idSchema,
  turn_id: idSchema,
  task_id: idSchema,
  execution_generation: z.int().min(1),
});

/**
 * The one frozen object of an attempt. All its events share it: it is never spread or copied, because a spread makes a
 * hidden class per object and costs hundreds of times what an envelope costs.
 */
export function makeCoordinates(fields: Coordinates): Coordinates {
  return Object.freeze({
    room_id: fields.room_id,
    thread_id: fields.thread_id,
    member_id: fields.member_id,
    turn_id: fields.turn_id,
    task_id: fields.task_id,
    execution_generation: fields.execution_generation,
  });
}

const texts = new WeakMap<Coordinates, string>();

/** JSON of the coordinates, made once per object. */
export function coordinatesText(coordinates: Coordinates): string {
  let text = texts.get(coordinates);
  if (text === undefined) {
    text = JSON.stringify(coordinates);
    texts.set(coordinates, text);
  }
  return text;
}
