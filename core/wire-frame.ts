import type { Client } from "./client.ts";
import { cutPayload, envelopeBytes, estimateBytes } from "./cut.ts";
import type { Frame, JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import type { Session } from "./sessions.ts";
import { utf8Length } from "./utf8.ts";

/** How a transport puts one JSON text on its wire: as a WebSocket text message, or as a line. */
export type Encoding = (text: string) => Uint8Array;

/** What stands around the params of an event: bytes, all of them ASCII. */
const envelopeLength = `{"jsonrpc":"2.0","method":"event","params":}`.length;

/** Between two tries to cut a payload to its size in UTF-8, whose estimate counts UTF-16 units. */
const cutTries = 6;

/**
 * A frame on its way to clients. It is turned into text when that is first asked for, once for all of them, and cut if the
 * text takes more than 8 MiB.
 */
export class WireFrame {
  /** Of its size before it is serialised, in bytes; at least 160. */
  readonly estimate: number;
  readonly #audience: ReadonlySet<Client> | null;
  readonly #seq: number | null;
  #frame: Frame;
  #json = "";
  #bytes = 0;

  /** @param audience who of those attached gets it; null: all of them */
  constructor(frame: Frame, audience: ReadonlySet<Client> | null = null) {
    this.#frame = frame;
    this.#audience = audience;
    this.#seq = "id" in frame ? null : (frame.params.seq ?? null);
    this.estimate = envelopeBytes + estimateBytes(bodyOf(frame));
  }

  /** As it is sent. */
  get frame(): Frame {
    this.#serialise();
    return this.#frame;
  }

  /** Null for a request and for an event of no session. */
  get seq(): number | null {
    return this.#seq;
  }

  isFor(client: Client): boolean {
    return this.#audience === null || this.#audience.has(client);
  }

  get json(): string {
    this.#serialise();
    return this.#json;
  }

  /** Of `json` in UTF-8. */
  get bytes(): number {
    this.#serialise();
    return this.#bytes;
  }

  /** Of an event's `params` alone, as compact JSON in UTF-8. */
  get paramsBytes(): number {
    return this.bytes - envelopeLength;
  }

  #serialise(): void {
    if (this.#json !== "") return;
    try {
      this.#write(this.#frame);
      if (this.#bytes > limits.maxWireFrameBytes) this.#write(cutFrame(this.#frame, this.#bytes));
    } catch {
      // The text would be longer than a string can be: what it was stays nameless, its number is not lost.
      this.#write(withBody(this.#frame, { unserialisable: true }));
    }
  }

  #write(frame: Frame): void {
    this.#frame = frame;
    this.#json = JSON.stringify(frame);
    this.#bytes = utf8Length(this.#json);
  }
}

/** Frames that some clients get together: for each transport one run of bytes, however many clients there are. */
export class Chunk {
  /** Null for what belongs to no session. */
  readonly session: Session | null;
  readonly frames: readonly WireFrame[];
  /** Of the frames as JSON in UTF-8, without what a transport adds. */
  readonly bytes: number;
  #encoded: { readonly by: Encoding; readonly bytes: Uint8Array } | null = null;

  constructor(session: Session | null, frames: readonly WireFrame[]) {
    this.session = session;
    this.frames = frames;
    this.bytes = frames.reduce((sum, frame) => sum + frame.bytes, 0);
  }

  /** The frames as they go on the wire. Made once for the encoding that asked last. */
  encoded(encoding: Encoding): Uint8Array {
    if (this.#encoded?.by !== encoding) {
      this.#encoded = { by: encoding, bytes: join(this.frames.map((frame) => encoding(frame.json))) };
    }
    return this.#encoded.bytes;
  }
}

/** Pieces of at most `maxBytes` each, but one frame at least. */
export function* slicesOf(frames: readonly WireFrame[], maxBytes: number): Generator<readonly WireFrame[]> {
  let from = 0;
  let bytes = 0;
  for (const [index, frame] of frames.entries()) {
    if (index > from && bytes + frame.bytes > maxBytes) {
      yield frames.slice(from, index);
      from = index;
      bytes = 0;
    }
    bytes += frame.bytes;
  }
  if (from < frames.length) yield from === 0 ? frames : frames.slice(from);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The frame with the longest texts of its payload cut, so that it fits, and `truncated` in it. */
function cutFrame(frame: Frame, bytes: number): Frame {
  const body = bodyOf(frame);
  const around = bytes - utf8Length(JSON.stringify(body));
  const whole = estimateBytes(body);
  // Estimates count UTF-16 units: of a text that takes more bytes than units, the share that is to stay counts.
  let estimate = whole > limits.maxWireFrameBytes ? limits.maxWireFrameBytes : share(whole, bytes);
  for (let tries = 0; tries < cutTries; tries++) {
    const { payload, truncated } = cutPayload(body, estimate);
    const cut = { ...payload, truncated };
    const size = around + utf8Length(JSON.stringify(cut));
    if (size <= limits.maxWireFrameBytes) return withBody(frame, cut);
    estimate = share(estimate, size);
  }
  return withBody(frame, { unserialisable: true });
}

/** What may stay of an estimate whose text took `bytes`. */
function share(estimate: number, bytes: number): number {
  return Math.floor((estimate * limits.maxWireFrameBytes * 0.9) / bytes);
}

function bodyOf(frame: Frame): JsonObject {
  return "id" in frame ? frame.params : (frame.params.payload ?? {});
}

function withBody(frame: Frame, body: JsonObject): Frame {
  if ("id" in frame) return { ...frame, params: { ...body, session_id: frame.params.session_id } };
  return { ...frame, params: { ...frame.params, payload: body } };
}
