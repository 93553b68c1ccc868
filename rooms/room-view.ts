import type { MemberEntry } from "../core/index.ts";
import type { PresentRoom } from "./present-room.ts";
import type { RoomDrive } from "./room-drive.ts";
import { RoomFollower } from "./room-follower.ts";
import { isWhole, type RoomLook } from "./room-look.ts";
import { attemptsOf, entriesOf, stateOf, type RoomSnapshot } from "./room-snapshot.ts";
import type { RoomState } from "./room-state.ts";
import type { HostParts } from "./tenure-parts.ts";
import type { Tenure } from "./tenure.ts";

/** Looks beside a room's steps; when rows came during each of them, the next one is a step itself. */
const maxTries = 3;

/** What can be seen of a room, whether it is driven here or elsewhere. Looking starts nothing. */
export class RoomView {
  readonly #present: PresentRoom;
  readonly #drive: RoomDrive;
  readonly #host: HostParts;
  /** While the room is not driven here. */
  #follower: RoomFollower | null = null;
  /** As they were seen last: who is in the same state keeps its `since`. */
  #entries: readonly MemberEntry[] = [];
  #looks: Promise<unknown> = Promise.resolve();

  constructor(present: PresentRoom, drive: RoomDrive, host: HostParts) {
    this.#present = present;
    this.#drive = drive;
    this.#host = host;
  }

  /** As `Room.state`. */
  state(): Promise<RoomState> {
    return this.#inTurn((look) => stateOf(look, this.members(look), this.#host.tap));
  }

  /** As `Room.snapshot`. */
  snapshot(onInstant: () => void = () => undefined): Promise<RoomSnapshot> {
    return this.#inTurn((look) => {
      onInstant();
      return { ...stateOf(look, this.members(look), this.#host.tap), attempts: attemptsOf(look) };
    });
  }

  /** What each member is doing, at the instant of a look; to be asked within it. */
  members(look: RoomLook): readonly MemberEntry[] {
    const { places, clock } = this.#host;
    const roomsBefore = places.before(this.#present.roomId) ?? 0;
    this.#entries = entriesOf(look, { before: this.#entries, roomsBefore, now: clock.now() });
    return this.#entries;
  }

  /**
   * Gives the room as it is at one instant to `of`, which must not wait. One look after the other: none is older than the
   * one before.
   * @throws RoomtapError `closed`, `log_corrupt`, and what the log throws
   */
  look<Result>(of: (look: RoomLook) => Result): Promise<Result> {
    const result = this.#looks.then(() => this.#look(of));
    this.#looks = result.catch(() => undefined);
    return result;
  }

  async #look<Result>(of: (look: RoomLook) => Result): Promise<Result> {
    this.#drive.checkOpen();
    const { tenure } = this.#drive;
    if (tenure === null) return this.#followed().look(of);
    this.#follower = null;
    // Beside the room's steps, one of which may have to wait for the database.
    for (let tries = 0; tries < maxTries; tries++) {
      const look = await tenure.look();
      if (this.#isPresent(tenure, look)) return of({ ...look, runs: [...tenure.runs] });
      await this.#host.turns.next();
    }
    const seen = await tenure.writer.inOrder(async () => {
      const look = await tenure.look();
      return this.#isPresent(tenure, look) ? { result: of(look) } : undefined;
    });
    // Somebody else has written, and this host has not learnt yet that the room is not its own any more.
    return seen === undefined ? this.#followed().look(of) : seen.result;
  }

  /** Whether no row came while the rest was read, and the room is still this host's. */
  #isPresent(tenure: Tenure, look: RoomLook): boolean {
    return isWhole(look) && look.state === tenure.writer.state && this.#drive.tenure === tenure;
  }

  async #inTurn<Result>(of: (look: RoomLook) => Result): Promise<Result> {
    this.#drive.checkOpen();
    await this.#host.turns.next();
    return this.look(of);
  }

  #followed(): RoomFollower {
    const { roomId, policy } = this.#present;
    return (this.#follower ??= new RoomFollower(roomId, policy, this.#host));
  }
}
