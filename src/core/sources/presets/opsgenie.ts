/** The alert API of Opsgenie, and of Jira Service Management after it: https://docs.opsgenie.com/docs/alert-api. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../json.ts';
import { lookUp } from '../../lookup.ts';
import {
  type Alert,
  type AlertState,
  keyOf,
  objectOf,
  parseObjectBody,
  readObject,
  readOne,
  type SkippedAlert,
  type SourcePreset,
  type SourceRequest,
  severityOf,
  textOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';

export const opsgenie: SourcePreset = {
  title: 'Opsgenie alert API',
  limited: 429,
  read(request) {
    const action = actionOf(request);
    if (action === undefined) return readObject(request, readCreation);
    return { alerts: readOne(() => readAction(action, request)) };
  },
};

/** The part of the path after the alert, such as `close`; undefined for a request that creates an alert. */
export function actionOf({ method, url }: Pick<SourceRequest, 'method' | 'url'>): string | undefined {
  const [path = ''] = url.split('?', 1);
  // Deleting is closing: history is kept.
  return /\/v2\/alerts\/[^/]+\/(\w+)/.exec(path)?.[1] ?? (method === 'DELETE' ? 'close' : undefined);
}

const states: Record<string, AlertState> = { acknowledge: 'acknowledged', close: 'resolved' };

function readAction(action: string, { key, bytes }: SourceRequest): Alert | SkippedAlert {
  const state = lookUp(states, action);
  if (key === undefined || !state) return { ...(key && { key }), note: action };
  const body = bytes.length > 0 ? parseObjectBody({ bytes }) : {};
  return {
    key,
    state,
    title: key,
    severity: null,
    time: null,
    context: pickTexts(body, { user: 'user', source: 'sender', note: 'note' }),
  };
}

const maxAlias = 512;

export function isPriority(value: unknown): value is string {
  return typeof value === 'string' && /^P[1-5]$/.test(value);
}

/** Returns the mistakes of the body that creates an alert. Texts that are too long are cut, as Opsgenie does. */
export function findCreationMistakes(body: JsonObject): Record<string, string> {
  if (textOf(body.message) === undefined) return { message: 'Message can not be empty.' };
  if ((textOf(body.alias)?.length ?? 0) > maxAlias)
    return { alias: `Alias can not be longer than ${maxAlias} characters.` };
  if (body.priority !== undefined && body.priority !== null && !isPriority(body.priority))
    return { priority: 'Priority should be one of [P1, P2, P3, P4, P5].' };
  return {};
}

export function readCreation(body: JsonObject): Alert {
  const [mistake] = Object.values(findCreationMistakes(body));
  if (mistake) throw new Error(mistake);
  const priority = textOf(body.priority) ?? 'P3';
  return {
    key: keyOf(textOf(body.alias) ?? randomUUID()),
    state: 'open',
    title: titleOf(body.message),
    severity: severityOf(priority),
    time: null,
    context: {
      ...pickTexts(body, {
        alias: 'alias',
        description: 'description',
        entity: 'entity',
        source: 'sender',
        user: 'user',
        note: 'note',
      }),
      priority,
      tags: listOf(body.tags),
      actions: listOf(body.actions),
      responders: Array.isArray(body.responders) ? body.responders.slice(0, 50) : [],
      details: objectOf(body.details),
    },
  };
}

/** Alertmanager sends tags separated by commas in older versions. */
function listOf(value: unknown): string[] {
  const items = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  return items.flatMap(item => textOf(item)?.trim() || []).slice(0, 20);
}
