import type { Runner } from "../core/index.ts";
import type { RoomPolicy } from "./policy.ts";
import { rosterOf, type DefinedRoster, type MemberDefinition } from "./room-definition.ts";
import type { RoomReader } from "./room-reader.ts";
import type { RoomRecord } from "./room-record.ts";

/** What one room is made of. */
export interface RoomParts {
  /** As the database had it when the host opened. */
  readonly record: RoomRecord;
  /** As the host was given them; the stored roster follows when the room is driven here. */
  readonly members: readonly MemberDefinition[];
  readonly policy: RoomPolicy;
}

/** A room's record and who drives its members, as this host knows them. */
export class PresentRoom {
  readonly policy: RoomPolicy;
  #record: RoomRecord;
  #members: readonly MemberDefinition[];
  #runners: ReadonlyMap<string, Runner>;

  constructor({ record, members, policy }: RoomParts) {
    this.policy = policy;
    this.#record = record;
    this.#members = members;
    this.#runners = rosterOf(members).runners;
  }

  get record(): RoomRecord {
    return this.#record;
  }

  get roomId(): string {
    return this.#record.room_id;
  }

  /** For messages. */
  get where(): string {
    return `room ${this.#record.room_id}`;
  }

  /** The members that this host was given last. */
  get members(): readonly MemberDefinition[] {
    return this.#members;
  }

  /** By member id. */
  get runners(): ReadonlyMap<string, Runner> {
    return this.#runners;
  }

  /** Reads the record anew: whoever drives the room may have changed it. */
  async read(log: Pick<RoomReader, "room">): Promise<RoomRecord> {
    this.#record = (await log.room(this.#record.room_id)) ?? this.#record;
    return this.#record;
  }

  /** Takes over what was stored. */
  take(record: RoomRecord): void {
    this.#record = record;
  }

  /** Takes over a roster that was stored. */
  takeRoster(record: RoomRecord, members: readonly MemberDefinition[], { runners }: DefinedRoster): void {
    this.#record = record;
    this.#members = members;
    this.#runners = runners;
  }
}
