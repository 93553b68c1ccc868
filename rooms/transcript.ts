import { limits, RoomtapError, type Author, type TranscriptEntry, type TurnStarted } from "../core/index.ts";
import type { ThreadState } from "./fold-state.ts";
import type { LogRow } from "./log-row.ts";
import type { Member } from "./room-record.ts";

/** What a prompt is made of. */
export interface Transcript {
  /** What the member was not shown before: the turn's input, in its order. */
  readonly unseen: readonly TranscriptEntry[];
  /** The last 24 texts of the thread apart from those, oldest first, its own answers among them. */
  readonly earlier: readonly TranscriptEntry[];
}

/** What a transcript is read from. */
export interface TranscriptSource {
  readonly payload: TurnStarted;
  /** The turn's thread when it was planned; undefined for a thread without rows. */
  readonly thread: ThreadState | undefined;
  /** A row of the room. It is asked for those that `transcriptRows` lists. */
  readonly row: (seq: number) => LogRow | undefined;
  /** For the names of those who answered. */
  readonly members: readonly Member[];
}

/** The rows that `transcriptOf` reads, ascending, so that they can be fetched before. */
export function transcriptRows({ payload, thread }: Pick<TranscriptSource, "payload" | "thread">): readonly number[] {
  const referenced = payload.input.flatMap((item) => ("row_seq" in item ? item.row_seq : []));
  const shown = thread?.transcript.map((entry) => entry.row) ?? [];
  return [...new Set([...referenced, ...shown])].sort((a, b) => a - b);
}

/**
 * The texts that a turn shows. Superseded answers are in neither list: no row refers to them.
 * @throws RoomtapError `log_corrupt` when a row that is referred to is not there, or does not hold the text
 */
export function transcriptOf({ payload, thread, row, members }: TranscriptSource): Transcript {
  const names = new Map(members.map((member) => [member.member_id, member.display_name]));
  const textsOf = (seq: number): readonly ShownText[] => textsOfRow(rowAt(row, seq), names);
  const unseen = payload.input.flatMap((item): readonly ShownText[] => {
    if ("text" in item) return [{ key: item.message_id, entry: item }];
    const key = "message_id" in item ? item.message_id : answerKey(item.row_seq);
    const text = textsOf(item.row_seq).find((shown) => shown.key === key);
    if (text === undefined) throw missing(item.row_seq, `it does not hold ${key}`);
    return [text];
  });
  const isUnseen = new Set(unseen.map((shown) => shown.key));
  const earlier = (thread?.transcript ?? [])
    .flatMap((shown) => textsOf(shown.row))
    .filter((shown) => !isUnseen.has(shown.key))
    .slice(-limits.maxTranscriptEntries);
  return { unseen: unseen.map(entryOf), earlier: earlier.map(entryOf) };
}

/** A text and what names it in the room: a message id, or the row of an answer. */
interface ShownText {
  readonly key: string;
  readonly entry: TranscriptEntry;
}

function textsOfRow(row: LogRow, names: ReadonlyMap<string, string>): readonly ShownText[] {
  if (row.kind === "turn.started") {
    return row.payload.input.flatMap((item) => ("text" in item ? { key: item.message_id, entry: item } : []));
  }
  const { member_id, payload } = row;
  const name = names.get(member_id);
  const author: Author = { kind: "agent", id: member_id, ...(name === undefined ? {} : { display_name: name }) };
  return [{ key: answerKey(row.seq), entry: { author, text: payload.text } }];
}

// A message id begins with a letter or a digit, so it is no answer's key.
function answerKey(seq: number): string {
  return `#${seq}`;
}

function entryOf({ entry }: ShownText): TranscriptEntry {
  const { author, text, attachments } = entry;
  return attachments === undefined ? { author, text } : { author, text, attachments };
}

function rowAt(row: TranscriptSource["row"], seq: number): LogRow {
  const found = row(seq);
  if (found === undefined) throw missing(seq, "a later row refers to it, and it is not there");
  return found;
}

function missing(seq: number, problem: string): RoomtapError {
  return new RoomtapError("log_corrupt", `row ${seq}: ${problem}`);
}
