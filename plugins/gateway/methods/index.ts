import { RpcTable } from "../rpc-table.ts";
import { consumerMethods } from "./consumers.ts";
import { gatewayMethods } from "./gateway.ts";
import { groupMethods } from "./groups.ts";
import { joinMethods } from "./join.ts";
import { pluginMethods } from "./plugins.ts";
import { promptMethods } from "./prompts.ts";
import { requestMethods } from "./requests.ts";
import { roomMethods } from "./rooms.ts";
import { sessionMethods } from "./sessions.ts";
import { sharingMethods } from "./sharing.ts";

/** All methods of the gateway. */
export const gatewayTable: RpcTable = new RpcTable([
  ...gatewayMethods,
  ...sessionMethods,
  ...joinMethods,
  ...sharingMethods,
  ...promptMethods,
  ...requestMethods,
  ...groupMethods,
  ...roomMethods,
  ...consumerMethods,
  ...pluginMethods,
]);
