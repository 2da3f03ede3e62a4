/** Rules of sources, heartbeats and watches that schemas cannot express. */
import { findRhythmMistakes } from '../../heartbeats/rhythm.ts';
import { isObject } from '../../json.ts';
import { findUpdateMistakes } from '../../sources/updates/update.ts';
import { webhookUrl } from '../webhooks.ts';
import {
  type Checker,
  checkExpression,
  checkFilter,
  type Entry,
  entries,
  referToEvent,
  refusePlaceholders,
  type Scope,
} from './shared.ts';

export function checkSource(source: Entry, { report, checkTemplate, eventReferences }: Checker, scope: Scope): void {
  const { at, entry } = source;
  refusePlaceholders(source, report);
  const { use, mapping } = entry;
  if (use === undefined && !isObject(mapping)) report(`${at}/use`, 'is required unless there is a mapping');
  if (use === undefined && isObject(mapping) && mapping.key === undefined)
    report(`${at}/mapping/key`, 'is required: it identifies the alert');
  if (use !== undefined && isObject(mapping) && mapping.alerts !== undefined)
    report(`${at}/mapping/alerts`, 'must be absent with use: the preset knows where the alerts are');
  if (use === 'sns' && entry.secret === '')
    report(`${at}/secret`, 'must be the ARN of the topic: anyone can have Amazon sign');
  for (const [name, value] of Object.entries(isObject(mapping) ? mapping : {})) {
    const isCondition = name === 'resolve' || name === 'acknowledge';
    (isCondition ? checkFilter : checkExpression)(value, `${at}/mapping/${name}`, report);
  }
  for (const mistake of isObject(entry.update) ? findUpdateMistakes(entry.update, checkTemplate) : [])
    report(`${at}/update/${mistake.at}`, mistake.message);
  const { group_by } = entry;
  for (const [i, path] of (Array.isArray(group_by) ? group_by : []).entries())
    checkExpression(path, `${at}/group_by/${i}`, report);
  const routes = entries(entry.routes, `${at}/routes`);
  for (const [i, route] of routes.entries()) {
    checkFilter(route.entry.when, `${route.at}/when`, report);
    if (route.entry.when === undefined && i < routes.length - 1)
      report(`${route.at}/when`, 'is required: without a condition, the routes after it never apply');
    referToEvent(route.entry.event, `${route.at}/event`, scope, report, eventReferences);
  }
}

export function checkHeartbeat(heartbeat: Entry, { report, eventReferences }: Checker, scope: Scope): void {
  const { at, entry } = heartbeat;
  refusePlaceholders(heartbeat, report);
  const texts = Object.entries(entry).filter(([, value]) => typeof value === 'string' && value !== '');
  for (const [field, mistake] of Object.entries(findRhythmMistakes(Object.fromEntries(texts))))
    report(`${at}/${field}`, mistake);
  referToEvent(entry.event, `${at}/event`, scope, report, eventReferences);
}

export function checkWatch(watch: Entry, { report, eventReferences }: Checker, scope: Scope): void {
  const { at, entry } = watch;
  refusePlaceholders(watch, report);
  if (typeof entry.url === 'string' && entry.url !== '' && !URL.canParse(entry.url))
    report(`${at}/url`, webhookUrl.patternHint);
  referToEvent(entry.event, `${at}/event`, scope, report, eventReferences);
}
