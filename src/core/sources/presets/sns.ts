/** Amazon SNS: alarms of CloudWatch, and any other message. Its signature is verified before it gets here. */
import { isObject, type JsonObject } from '../../json.ts';
import {
  type Alert,
  keyOf,
  parseObjectBody,
  readObject,
  type SkippedAlert,
  type SourcePreset,
  severityOf,
  stateOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';

export const sns: SourcePreset = {
  title: 'Amazon SNS',
  // SNS retries 429 and 5xx.
  limited: 429,
  read: request => readObject(request, readEnvelope),
};

function readEnvelope(envelope: JsonObject): Alert | SkippedAlert {
  if (typeof envelope.Message !== 'string') throw new Error('has no Message');
  if (envelope.Type !== 'Notification') return { note: `a message of type ${String(envelope.Type)}` };
  const message = parseMessage(envelope.Message);
  const common = { id: keyOf(`sns ${envelope.MessageId}`), topic: textOf(envelope.TopicArn) ?? null };
  return isObject(message) && 'AlarmName' in message
    ? readAlarm(message, common)
    : readMessage(message, envelope, common);
}

interface Common {
  id: string;
  topic: string | null;
}

function readAlarm(alarm: JsonObject, { id, topic }: Common): Alert | SkippedAlert {
  const key = keyOf(textOf(alarm.AlarmArn) ?? String(alarm.AlarmName));
  const state = alarm.NewStateValue;
  // Neither a problem nor its end: CloudWatch has too few values to say.
  if (state !== 'ALARM' && state !== 'OK') return { key, note: `the alarm is in the state ${String(state)}` };
  return {
    id,
    key,
    state: state === 'OK' ? 'resolved' : 'open',
    title: titleOf(alarm.AlarmDescription, alarm.AlarmName),
    severity: null,
    time: timeOf(alarm.StateChangeTime),
    context: { alarm, reason: textOf(alarm.NewStateReason) ?? null, topic },
  };
}

function readMessage(message: unknown, envelope: JsonObject, { id, topic }: Common): Alert {
  const fields: JsonObject = isObject(message) ? message : {};
  const key = textOf(fields.key) ?? textOf(fields.id) ?? textOf(envelope.Subject) ?? topic ?? 'sns';
  return {
    id,
    key: keyOf(key),
    state: stateOf(fields.state ?? fields.status),
    title: titleOf(envelope.Subject, fields.title, fields.summary, envelope.Message),
    severity: severityOf(fields.severity),
    time: timeOf(envelope.Timestamp),
    context: { message: message as JsonObject, subject: textOf(envelope.Subject) ?? null, topic },
  };
}

function parseMessage(text: string): unknown {
  try {
    return parseObjectBody({ bytes: Buffer.from(text) });
  } catch {
    return text;
  }
}
