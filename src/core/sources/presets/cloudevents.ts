/** CloudEvents 1.0 over HTTP, in structured, batch and binary mode: https://github.com/cloudevents/spec. */
import { isObject, type Json, type JsonObject } from '../../json.ts';
import {
  type Alert,
  keyOf,
  parseJsonBody,
  readEach,
  readOne,
  type SourcePreset,
  type SourceRequest,
  severityOf,
  stateOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';

export const cloudevents: SourcePreset = {
  title: 'CloudEvents',
  read(request) {
    const type = request.contentType.toLowerCase();
    if (type.startsWith('application/cloudevents-batch')) {
      const events = parseJsonBody(request);
      if (!Array.isArray(events)) throw new Error('must be a JSON array in batch mode');
      return { alerts: readEach(events, '', readEvent) };
    }
    if (type.startsWith('application/cloudevents')) {
      const event = parseJsonBody(request);
      if (!isObject(event)) throw new Error('must be a JSON object in structured mode');
      return { alerts: readOne(() => readEvent(event)) };
    }
    const event = readBinary(request);
    return { alerts: readOne(() => readEvent(event)) };
  },
};

function readBinary({ headers, contentType, bytes }: SourceRequest): JsonObject {
  const attributes = Object.entries(headers).filter(([name]) => name.startsWith('ce-'));
  if (attributes.length === 0)
    throw new Error('has neither a content type of CloudEvents nor headers that begin with ce-');
  const event: JsonObject = Object.fromEntries(
    attributes.map(([name, value]) => [name.slice(3), decodeValue(name, value ?? '')]),
  );
  if (bytes.length === 0) return event;
  const isJson = contentType === '' || /[/+]json\b/i.test(contentType);
  return {
    ...event,
    datacontenttype: contentType,
    data: isJson ? (parseJsonBody({ bytes }) as Json) : bytes.toString('utf8'),
  };
}

/** Values are percent-encoded once; quotes around them are accepted. */
function decodeValue(name: string, value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  const text = quoted === undefined ? value : quoted.replaceAll(/\\(.)/g, '$1');
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25'));
  } catch {
    throw new Error(`has a header ${name} that is not valid UTF-8`);
  }
}

function readEvent(event: JsonObject): Alert {
  for (const name of ['id', 'source', 'specversion', 'type']) {
    if (textOf(event[name]) === undefined) throw new Error(`lacks the attribute ${name}`);
  }
  if (!String(event.specversion).startsWith('1.')) throw new Error('has a specversion other than 1.0');
  const { data_base64, ...attributes } = event;
  const data = data_base64 === undefined ? event.data : Buffer.from(String(data_base64), 'base64').toString('utf8');
  const details: JsonObject = isObject(data) ? data : {};
  const type = String(event.type);
  const subject = textOf(event.subject);
  const said = details.state ?? details.status;
  return {
    // Unique for each event.
    id: keyOf(`${event.source} ${event.id}`),
    key: keyOf(`${event.source} ${subject ?? type.replace(/\.[^.]+$/, '')}`),
    state: stateOf(isScalar(said) ? said : type.split('.').at(-1)),
    title: titleOf(details.title, details.summary, details.message, subject && `${type}: ${subject}`, type),
    severity: severityOf(details.severity ?? details.level ?? event.severity),
    time: timeOf(event.time),
    context: { event: withoutData(attributes), data: data ?? null },
  };
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function withoutData({ data: _, ...attributes }: JsonObject): JsonObject {
  return attributes;
}
