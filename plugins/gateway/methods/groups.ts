import { z } from "zod";
import { idSchema, limits } from "../../../core/index.ts";
import { driverStatus, roomNameSchema, type RoomState } from "../../../rooms/index.ts";
import { authorOf, roomPage } from "../room-access.ts";
import { defineMethod, type Method } from "../rpc-table.ts";
import { defineRoomChange } from "./room-change.ts";
import {
  memberDefinitions,
  shownName,
  membersSchema,
  recordSchema,
  roomId,
  rowSchema,
  shownRecord,
  shownRows,
} from "./room-shapes.ts";
import { shownRequests } from "./rooms.ts";

/** What a client may rely on. */
const features = ["rooms_state", "rooms_subscribe", "threads", "mentions", "pause", "set_roster", "retry", "stop"];

/** Names a stop, so that it can be asked for again. */
const cancelId = z.string().min(1).max(128);

/** A room as lists show it, from its state. */
function shownRoom({ room: { roster, ...room }, members }: RoomState) {
  const paused = members.filter((member) => member.paused).map(({ member_id }) => member_id);
  return { ...room, members: roster, paused };
}

/** Rooms as the Hermes gateway's clients know them. */
export const groupMethods: readonly Method[] = [
  defineMethod({
    name: "groups.capabilities",
    summary: "What this gateway does with rooms.",
    params: z.object({}),
    result: z.looseObject({ protocol_version: z.literal(2), driver: z.string() }),
    handler: (_, { host }) => ({
      protocol_version: 2 as const,
      driver: "roomtap",
      persistent_process: true,
      authority_gateway_id: host.gatewayId,
      room_link: false,
      features,
      methods: host.methods().filter((name) => name.startsWith("groups.") || name.startsWith("rooms.")),
      max_log_limit: limits.maxPageRows,
    }),
  }),
  defineMethod({
    name: "groups.list",
    summary: "The rooms of the database, by id.",
    params: z.object({
      include_disbanded: z.boolean().default(false),
      limit: z.int().min(1).max(500).default(500),
      offset: z.int().min(0).default(0),
    }),
    result: z.object({ rooms: z.array(recordSchema), next_offset: z.number().nullable() }),
    handler: async (page, { client, host }) => {
      const { rooms, next_offset } = await roomPage(host.rooms, client, page);
      return { rooms: rooms.map(shownRecord), next_offset };
    },
  }),
  defineRoomChange({
    name: "groups.create",
    summary: "A new room, driven here. Made again with the same name and members, it is the room that is there.",
    params: z.object({ room_id: idSchema, name: roomNameSchema, members: membersSchema }),
    result: z.object({ room: recordSchema }),
    errors: ["room_conflict", "room_retired", "invalid_roster", "too_many_rooms"],
    handler: async ({ room_id, name, members }, { host }) => {
      const definitions = memberDefinitions(members, [], host);
      const { room, idempotent } = await host.rooms.create({
        room_id,
        name: shownName(name, host),
        members: definitions,
      });
      return { room: { ...shownRecord(room.record), idempotent } };
    },
  }),
  defineMethod({
    name: "groups.state",
    summary: "A room and how its driver is doing.",
    params: z.object({ room_id: roomId, include_disbanded: z.boolean().default(false) }),
    result: z.object({ room: recordSchema, driver_status: z.looseObject({ running: z.boolean() }) }),
    errors: ["unknown_room", "room_disbanded"],
    handler: async ({ room_id, include_disbanded }, { client, host }) => {
      const state = await host.rooms.state(room_id, { include_disbanded });
      const open_requests = shownRequests(state.open_requests, client);
      return { room: shownRoom(state), driver_status: { ...driverStatus({ ...state, open_requests }) } };
    },
  }),
  defineRoomChange({
    name: "groups.send",
    summary: "Posts to a room. Accepted means durable.",
    params: z.object({
      room_id: roomId,
      event_id: idSchema.optional(),
      payload: z.object({
        text: z.string(),
        thread_id: idSchema.optional(),
        attachments: z.array(z.string()).optional(),
      }),
    }),
    result: z.looseObject({ accepted: z.literal(true), driver_started: z.boolean() }),
    errors: [
      "unknown_room",
      "room_disbanded",
      "idempotency_conflict",
      "inbox_full",
      "room_full",
      "text_too_large",
      "log_corrupt",
    ],
    handler: async ({ room_id, event_id, payload }, { client, host }) => {
      const author = authorOf(client.principal);
      const receipt = await (
        await host.rooms.find(room_id)
      ).post({ ...payload, event_id, author, origin: client.origin });
      const { message_id, thread_id, starts, addressed, unresolved } = receipt;
      const shown = { ...payload, text: host.redactor.text(payload.text.toWellFormed()) };
      const event = {
        kind: "message.user",
        event_id: message_id,
        seq: null,
        room_id,
        thread_id,
        author,
        payload: shown,
      };
      return {
        event,
        client_event_id: event_id ?? null,
        accepted: true as const,
        driver_started: starts,
        addressed: [...addressed],
        unresolved: [...unresolved],
      };
    },
  }),
  defineRoomChange({
    name: "groups.rename",
    summary: "Gives a room another name, as a new revision.",
    params: z.object({ room_id: roomId, event_id: idSchema, name: roomNameSchema }),
    result: z.object({ room: recordSchema }),
    errors: ["unknown_room", "room_disbanded", "idempotency_conflict", "lease_lost"],
    handler: async ({ room_id, event_id, name }, { host }) => ({
      room: shownRecord(
        await (await host.rooms.find(room_id)).rename({ eventId: event_id, name: shownName(name, host) }),
      ),
    }),
  }),
  defineMethod({
    name: "groups.log",
    summary: "Rows of a room's log above a number, secrets masked.",
    params: z.object({
      room_id: roomId,
      since_seq: z.int().min(0).default(0),
      limit: z.int().min(1).max(limits.maxPageRows).default(100),
      include_disbanded: z.boolean().default(false),
    }),
    result: z.looseObject({
      events: z.array(rowSchema),
      cursor: z.number(),
      latest_seq: z.number(),
      has_more: z.boolean(),
    }),
    errors: ["unknown_room", "room_disbanded", "cursor_ahead", "history_expired"],
    handler: async ({ room_id, ...page }, { host }) => ({
      ...(await shownRows(host, room_id, page)),
      authority: { gateway_id: host.gatewayId },
    }),
  }),
  defineRoomChange({
    name: "groups.stop",
    summary: "Ends all that runs and closes what waits in a room; pauses nobody.",
    params: z.object({ room_id: roomId, cancel_id: cancelId.optional() }),
    result: z.object({ cancelled: z.number() }),
    errors: ["unknown_room", "room_disbanded", "lease_lost"],
    handler: async ({ room_id, cancel_id }, { host }) => {
      const { cancelled } = await (await host.rooms.find(room_id)).stop({ cancelId: cancel_id });
      return { cancelled };
    },
  }),
  defineRoomChange({
    name: "groups.retry",
    summary: "One more attempt of a task, with the same input.",
    params: z.object({ room_id: roomId, task_id: z.string(), execution_generation: z.int().min(1).optional() }),
    result: z.object({ retried: z.literal(true), task: z.looseObject({ task_id: z.string() }) }),
    errors: ["unknown_room", "room_disbanded", "unknown_task", "task_open", "not_retryable", "stale_generation"],
    handler: async ({ room_id, task_id, execution_generation: generation }, { client, host }) => {
      const task = await (await host.rooms.find(room_id)).retry(task_id, { generation, origin: client.origin });
      return { retried: true as const, task: { ...task } };
    },
  }),
  defineRoomChange({
    name: "groups.disband",
    summary: "Closes a room for good. Its log stays readable for 90 days.",
    params: z.object({ room_id: roomId, cancel_id: cancelId.optional() }),
    result: z.object({ tombstone: z.looseObject({ room_id: z.string(), disbanded_at: z.number() }) }),
    errors: ["unknown_room", "lease_lost"],
    handler: async ({ room_id }, { host }) => ({ tombstone: { ...(await host.rooms.disband(room_id)) } }),
  }),
];
