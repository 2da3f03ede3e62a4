/**
 * Healthchecks lets users write the body of its webhook. This reads the one that the guide gives:
 * {"code":"$CODE","name":"$NAME","status":"$STATUS","now":"$NOW","check":$JSON}.
 */
import type { JsonObject } from '../../json.ts';
import { type Alert, keyOf, objectOf, readObject, type SourcePreset, textOf, timeOf, titleOf } from '../alert.ts';

export const healthchecks: SourcePreset = {
  title: 'Healthchecks',
  read: request => readObject(request, readCheck),
};

function readCheck(payload: JsonObject): Alert {
  const check = objectOf(payload.check);
  const status = textOf(payload.status) ?? textOf(check.status);
  if (status !== 'up' && status !== 'down') throw new Error('has a status other than up and down');
  const key =
    textOf(payload.code) ??
    textOf(check.uuid) ??
    textOf(check.unique_key) ??
    textOf(check.slug) ??
    textOf(payload.name);
  if (key === undefined) throw new Error('has neither code nor name');
  return {
    key: keyOf(key),
    state: status === 'up' ? 'resolved' : 'open',
    title: titleOf(payload.name, check.name, key),
    severity: 'error',
    time: timeOf(payload.now),
    context: { check, tags: textOf(check.tags)?.split(' ').filter(Boolean) ?? [] },
  };
}
