import { z } from "zod";
import { limits, RoomtapError, type ActivityKind, type Client, type RequestEntry } from "../../../core/index.ts";
import type { Grant, PayloadLevel } from "../../../observers/index.ts";
import type { LogRow } from "../../../rooms/index.ts";
import { kindsOf } from "../../patterns.ts";
import type { GatewayHost } from "../host.ts";
import { feedRefusal } from "../room-access.ts";
import { RoomFeed, type FeedOptions } from "../room-feed.ts";
import { atReply, defineMethod, type Method } from "../rpc-table.ts";
import { defineRoomChange } from "./room-change.ts";
import {
  membersSchema,
  memberDefinitions,
  recordSchema,
  roomId,
  rowSchema,
  shownRecord,
  shownRows,
} from "./room-shapes.ts";

const stateSchema = z.looseObject({
  room: z.looseObject({ room_id: z.string() }),
  members: z.array(z.looseObject({})),
});

const verdictSchema = z.looseObject({
  room_id: z.string(),
  rows: z.int(),
  log_hash: z.string(),
  digest: z.string(),
  problem: z.looseObject({ seq: z.int().nullable(), kind: z.string(), message: z.string() }).nullable(),
});

const attemptSchema = z.looseObject({ coordinates: z.looseObject({}), n: z.number(), text: z.string() });

/** What a client wants to see of a room: `rooms.*` all it may have by its scopes and grants. */
export const roomMethods: readonly Method[] = [
  defineMethod({
    name: "rooms.state",
    summary: "What each member of a room is doing, what waits, and where its log stands, of one instant.",
    params: z.object({ room_id: roomId }),
    result: stateSchema,
    errors: ["unknown_room", "room_disbanded", "log_corrupt"],
    handler: async ({ room_id }, { client, host }) => {
      const state = await host.rooms.state(room_id, { include_disbanded: true });
      return { ...state, open_requests: shownRequests(state.open_requests, client) };
    },
  }),
  defineMethod({
    name: "rooms.verify",
    summary: "Checks every row of a room's log: hashes, order, what it folds to. One at a time on a connection.",
    params: z.object({ room_id: roomId }),
    result: verdictSchema,
    errors: ["unknown_room"],
    paced: true,
    handler: ({ room_id }, { host }) => host.rooms.verify(room_id),
  }),
  defineMethod({
    name: "rooms.subscribe",
    summary: "A snapshot of a room, then its posts, rows, members and activity on one ordered channel.",
    params: z.object({
      room_id: roomId,
      since_seq: z.int().min(0).optional(),
      kinds: z.array(z.string()).max(64).optional(),
      payload: z.enum(["standard", "meta", "full"]).default("standard"),
      reasoning: z.boolean().default(false),
    }),
    result: z.object({
      subscription_id: z.string(),
      state: stateSchema,
      rows: z.array(rowSchema),
      cursor: z.number(),
      latest_seq: z.number(),
      has_more: z.boolean(),
      attempts: z.array(attemptSchema),
    }),
    errors: ["unknown_room", "room_disbanded", "too_many_subscriptions", "not_granted", "cursor_ahead", "log_corrupt"],
    handler: async ({ room_id, since_seq, ...wanted }, { client, host, afterReply, afterCall }) => {
      const room = await host.rooms.find(room_id);
      if (room.record.disbanded_at !== null) {
        throw new RoomtapError("room_disbanded", `room ${room_id} was disbanded`);
      }
      const feeds = host.subscriptions.of(client);
      feeds.check(room_id);
      const options = { id: host.subscriptions.nextId(), ...feedOptions(client, wanted) };
      const feed = new RoomFeed(room, { client, fanOut: host.fanOut, observers: host.observers, options });
      afterCall(() => feed.closeUnlessOpen());
      const snapshot = await feed.begin();
      const { attempts, ...state } = snapshot;
      const { latest_seq } = state.log;
      const page = await rowsSince(host, room_id, { since: since_seq ?? latest_seq, latest_seq });
      return atReply(() => {
        const refusal = feedRefusal(client, room_id, options.grants);
        if (refusal !== null) throw refusal;
        if (feed.isOver) throw new RoomtapError("log_busy", "more happened meanwhile than is kept; subscribe again");
        feeds.check(room_id);
        afterReply(() => {
          feeds.set(room_id, feed);
          feed.open(snapshot);
        });
        return {
          subscription_id: options.id,
          state: { ...state, open_requests: shownRequests(state.open_requests, client) },
          ...page,
          latest_seq,
          attempts: [...attempts],
        };
      });
    },
  }),
  defineMethod({
    name: "rooms.unsubscribe",
    summary: "Ends the subscription to a room.",
    params: z.object({ room_id: roomId }),
    result: z.object({ unsubscribed: z.boolean() }),
    handler: ({ room_id }, { client, host }) => ({ unsubscribed: host.subscriptions.of(client).end(room_id) }),
  }),
  ...(["pause", "resume"] as const).map((what) =>
    defineRoomChange({
      name: `rooms.${what}`,
      summary:
        what === "pause"
          ? "A member, or all, starts nothing until it is resumed; what it runs goes on."
          : "A member, or all, answers again, and what it is owed first.",
      params: z.object({ room_id: roomId, member_id: z.string().optional() }),
      result: z.object({ paused: z.array(z.string()) }),
      errors: ["unknown_room", "room_disbanded", "unknown_member", "lease_lost"],
      handler: async ({ room_id, member_id }, { host }) => ({
        paused: [...(await (await host.rooms.find(room_id))[what](member_id === undefined ? undefined : [member_id]))],
      }),
    }),
  ),
  defineRoomChange({
    name: "rooms.cancel",
    summary: "Cancels one turn that runs, or one post that waits.",
    params: z.object({ room_id: roomId, turn_id: z.string().optional(), message_id: z.string().optional() }),
    result: z.object({ cancelled: z.number() }),
    errors: ["unknown_room", "room_disbanded", "unknown_turn", "unknown_message", "lease_lost"],
    handler: async ({ room_id, turn_id, message_id }, { host }) => {
      const room = await host.rooms.find(room_id);
      if (turn_id !== undefined && message_id === undefined)
        return { cancelled: await room.cancel({ turnId: turn_id }) };
      if (message_id !== undefined && turn_id === undefined) {
        return { cancelled: await room.cancel({ messageId: message_id }) };
      }
      throw new RoomtapError("invalid_params", "expected either turn_id or message_id", { data: { path: "turn_id" } });
    },
  }),
  defineRoomChange({
    name: "rooms.set_roster",
    summary: "Gives a room another roster, as a new revision.",
    params: z.object({ room_id: roomId, expected_revision: z.int().min(1), members: membersSchema }),
    result: z.object({ room: recordSchema }),
    errors: ["unknown_room", "room_disbanded", "revision_conflict", "invalid_roster", "lease_lost"],
    handler: async ({ room_id, expected_revision: expectedRevision, members }, { host }) => {
      const room = await host.rooms.find(room_id);
      const definitions = memberDefinitions(members, room.members, host);
      return { room: shownRecord(await room.setRoster(definitions, { expectedRevision })) };
    },
  }),
];

/** Requests as a client is shown them: of an approval, who may not answer it learns no more than that it waits. */
export function shownRequests(requests: readonly RequestEntry[], client: Client): RequestEntry[] {
  if (client.holds("approvals")) return [...requests];
  return requests.map((request) => (request.method === "approval" ? waitingApproval(request) : request));
}

function waitingApproval({ id, request_id, method, tool_id, expires_at, coordinates }: RequestEntry): RequestEntry {
  return { id, request_id, method, ...(tool_id === undefined ? {} : { tool_id }), expires_at, coordinates };
}

/** What a client wants, as far as it may have it. @throws RoomtapError `not_granted`, `invalid_params` */
function feedOptions(
  client: Client,
  wanted: {
    readonly kinds?: readonly string[] | undefined;
    readonly payload: PayloadLevel;
    readonly reasoning: boolean;
  },
): Omit<FeedOptions, "id"> {
  const { kinds, payload } = wanted;
  return { kinds: kindsNamed(kinds), payload, grants: grantsOf(client, wanted) };
}

/** @throws RoomtapError `not_granted` */
function grantsOf(
  client: Client,
  { payload, reasoning }: { readonly payload: PayloadLevel; readonly reasoning: boolean },
): readonly Grant[] {
  const asked: Grant[] = [
    ...(payload === "full" ? (["full"] as const) : []),
    ...(reasoning ? (["reasoning"] as const) : []),
  ];
  const missing = asked.find((grant) => !client.grants.has(grant));
  if (missing !== undefined) {
    throw new RoomtapError("not_granted", `this connection has no grant "${missing}"`, { data: { grant: missing } });
  }
  return client.holds("approvals") ? [...asked, "approvals"] : asked;
}

/** @throws RoomtapError `invalid_params` that lists the known ones */
function kindsNamed(patterns: readonly string[] = ["*"]): readonly ActivityKind[] {
  try {
    return [...new Set(patterns.flatMap((pattern) => kindsOf(pattern)))];
  } catch (fault) {
    const message = fault instanceof Error ? fault.message : "unknown kind";
    throw new RoomtapError("invalid_params", message, { data: { path: "kinds" } });
  }
}

async function rowsSince(
  host: GatewayHost,
  room_id: string,
  { since, latest_seq }: { readonly since: number; readonly latest_seq: number },
): Promise<{ rows: LogRow[]; cursor: number; has_more: boolean }> {
  if (since > latest_seq) {
    throw new RoomtapError("cursor_ahead", `since_seq ${since} is above the room's last row, ${latest_seq}`);
  }
  const limit = Math.min(latest_seq - since, limits.maxPageRows);
  if (limit === 0) return { rows: [], cursor: since, has_more: false };
  const page = await shownRows(host, room_id, { since_seq: since, limit });
  // Rows that came meanwhile are told behind the snapshot.
  const rows = page.events.filter(({ seq }) => seq <= latest_seq);
  const cursor = rows.at(-1)?.seq ?? since;
  return { rows, cursor, has_more: cursor < latest_seq };
}
