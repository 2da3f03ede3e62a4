/** Uptime Kuma's webhook: JSON, a form with JSON in the field `data`, or a GET with the parts as query parameters. */
import { parseForm } from '../../feedback/form.ts';
import { isObject, type JsonObject } from '../../json.ts';
import {
  type Alert,
  objectOf,
  parseObjectBody,
  readOne,
  type SkippedAlert,
  type SourcePreset,
  type SourceRequest,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';
import { readFormatted } from './formatted.ts';

const down = 0;
const up = 1;

export const uptimeKuma: SourcePreset = {
  title: 'Uptime Kuma',
  read(request) {
    const payload = payloadOf(request);
    return { alerts: readOne(() => readHeartbeat(payload)) };
  },
};

function payloadOf(request: SourceRequest): JsonObject {
  if (request.method === 'GET') {
    const query = new URL(request.url, 'http://localhost').searchParams;
    const part = (name: string) => parsePart(query.get(name));
    return { heartbeat: part('heartbeat'), monitor: part('monitor'), msg: query.get('msg') };
  }
  if (/^multipart\/form-data/i.test(request.contentType)) {
    const data = parseForm(request.bytes, request.contentType).get('data') ?? '';
    return parseObjectBody({ bytes: Buffer.from(data) });
  }
  return parseObjectBody(request);
}

function parsePart(text: string | null): JsonObject | null {
  return text === null || text === 'null' ? null : parseObjectBody({ bytes: Buffer.from(text) });
}

function readHeartbeat(payload: JsonObject): Alert | SkippedAlert {
  if (!('heartbeat' in payload) && 'title' in payload) return readFormatted(payload);
  const { heartbeat } = payload;
  if (!isObject(heartbeat)) return { note: 'a test of the notification' };
  const monitor = objectOf(payload.monitor);
  const key = textOf(monitor.id) ?? textOf(heartbeat.monitorID);
  if (key === undefined) throw new Error('names no monitor');
  const { status } = heartbeat;
  if (status !== down && status !== up) return { key, note: 'the monitor is pending or in maintenance' };
  return {
    key,
    state: status === up ? 'resolved' : 'open',
    title: titleOf(monitor.name, payload.msg),
    severity: 'critical',
    time: timeOf(heartbeat.time),
    context: {
      ...pickTexts(payload, { msg: 'message' }),
      monitor: pickTexts(monitor, {
        id: 'id',
        name: 'name',
        url: 'url',
        hostname: 'hostname',
        port: 'port',
        type: 'type',
      }),
      tags: Array.isArray(monitor.tags) ? monitor.tags.slice(0, 50) : [],
    },
  };
}
