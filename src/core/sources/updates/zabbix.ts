/** Acknowledges and closes problems of Zabbix: https://www.zabbix.com/documentation/current/en/manual/api/reference/event/acknowledge */
import { isObject } from '../../json.ts';
import { textOf } from '../alert.ts';
import { authorizationOf, joinPath } from './requests.ts';
import type { UpdatePreset, UpdateState } from './update.ts';

/** Bits of `action`. */
const close = 1;
const acknowledge = 2;
const addMessage = 4;
const unacknowledge = 16;

const actions: Record<UpdateState, number> = {
  acknowledged: acknowledge + addMessage,
  unacknowledged: unacknowledge + addMessage,
  resolved: close + addMessage,
};
const verbs: Record<UpdateState, string> = {
  acknowledged: 'Acknowledged',
  unacknowledged: 'Acknowledgement withdrawn',
  resolved: 'Resolved',
};
const maxMessage = 2_048;
/** "Internal error" of JSON-RPC: anything else says that the request is wrong. */
const internalError = -32603;

export const zabbix: UpdatePreset = {
  title: 'Acknowledge in Zabbix',
  toRequest({ state, by, key, link }, { url = '' }, secret) {
    if (!/^\d{1,20}$/.test(key)) throw new Error('the key of the alert is not the id of an event of Zabbix');
    const params = {
      eventids: [key],
      action: actions[state],
      message: `${verbs[state]} in Belfry by ${by}. ${link}`.trim().slice(0, maxMessage),
    };
    return {
      method: 'POST',
      url: joinPath(url, '/api_jsonrpc.php'),
      headers: { ...authorizationOf(secret), 'content-type': 'application/json-rpc' },
      json: { jsonrpc: '2.0', method: 'event.acknowledge', params, id: 1 },
    };
  },
  // Errors are answered with 200.
  classify({ status, json }) {
    if (status !== 200) return undefined;
    const error = isObject(json) && isObject(json.error) ? json.error : undefined;
    if (error) {
      const reason = [textOf(error.message), textOf(error.data)].filter(Boolean).join(' ');
      return { retry: error.code === internalError, reason };
    }
    return isObject(json) && json.result !== undefined
      ? undefined
      : { retry: true, reason: 'this is not the API of Zabbix' };
  },
};
