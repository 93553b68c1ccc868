import type { Undo } from "../../core/index.ts";
import type { GuestThread } from "./guest-thread.ts";

/** Who carries out what was registered: a guest, under the number that it gave it. */
export interface Sitter {
  readonly guest: GuestThread;
  readonly registration: number;
  /** Of a handler: where the guest marks what it has handled, a byte for each event of a batch. */
  readonly marks: Uint8Array | null;
}

/** What a guest registers. */
export interface SeatRequest {
  /** Says which of a guest's registrations it is; that of the next guest with the same one takes its place. */
  readonly key: string;
  /** What has to be the same for that, too. */
  readonly signature: string;
  readonly sitter: Sitter;
  /** Registers it with the host; what it throws is the guest's. */
  readonly register: (seat: Seat) => Undo;
}

/** A registration with the host. It stays when its guest ends, and waits for the next one. */
export class Seat {
  readonly key: string;
  readonly signature: string;
  sitter: Sitter | null;
  #waiting: ((sitter: Sitter | null) => void)[] = [];
  #isEnded = false;

  constructor({ key, signature, sitter }: SeatRequest) {
    this.key = key;
    this.signature = signature;
    this.sitter = sitter;
  }

  /** Who sits there; waits until somebody does. null when the registration has ended. */
  taken(): Promise<Sitter | null> {
    if (this.sitter !== null || this.#isEnded) return Promise.resolve(this.sitter);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  sit(sitter: Sitter | null): void {
    this.sitter = sitter;
    if (sitter !== null) this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.sitter = null;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve(this.sitter);
  }
}

/** All that the guests of one plugin, one after the other, have registered with the host. */
export class Seats {
  /** In order of registration. */
  readonly #seats = new Map<Seat, Undo>();

  /** Gives a registration the seat that an earlier guest has left, or a new one. @throws what `register` throws */
  take(request: SeatRequest): void {
    const left = [...this.#seats.keys()].find(({ key, sitter }) => key === request.key && sitter === null);
    if (left?.signature === request.signature) return left.sit(request.sitter);
    if (left !== undefined) this.#end(left);
    const seat = new Seat(request);
    this.#seats.set(seat, request.register(seat));
  }

  /** Ends what this guest has under this number. */
  end(guest: GuestThread, registration: number): void {
    for (const seat of [...this.#seats.keys()]) {
      if (seat.sitter?.guest === guest && seat.sitter.registration === registration) this.#end(seat);
    }
  }

  /** The guest has gone: its seats wait. */
  leave(guest: GuestThread): void {
    for (const seat of this.#seats.keys()) if (seat.sitter?.guest === guest) seat.sit(null);
  }

  /** The next guest is set up: what it did not register again ends. */
  endEmpty(): void {
    for (const seat of [...this.#seats.keys()]) if (seat.sitter === null) this.#end(seat);
  }

  /** Ends all, the last one first. */
  endAll(): void {
    for (const seat of [...this.#seats.keys()].toReversed()) this.#end(seat);
  }

  #end(seat: Seat): void {
    const undo = this.#seats.get(seat);
    this.#seats.delete(seat);
    undo?.();
    seat.end();
  }
}
