/** Rules of events and notifications that schemas cannot express. */
import { findSchemaMistakes } from '../../context-schema/schema.ts';
import { personal } from '../../decision/decide.ts';
import { findDigestMistake } from '../../decision/digest.ts';
import { findCanaryMistakes } from '../../decision/guards/canary.ts';
import { findStepMistakes } from '../../decision/steps.ts';
import { isLongThrottle, throttleLimits } from '../../decision/throttle.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { checkMessage, type ReportError } from '../messages.ts';
import { type Checker, checkFilter, checkNames, type Entry, entries, type Scope } from './shared.ts';

export function checkContextSchema(value: unknown, at: string, report: ReportError): void {
  if (!isObject(value)) return;
  for (const mistake of findSchemaMistakes(value)) report(mistake.at ? `${at}/${mistake.at}` : at, mistake.message);
}

export function checkNotification({ at, entry }: Entry, { report, checkTemplate }: Checker, scope: Scope): void {
  const refer = scope.refer!;
  checkFilter(entry.filter, `${at}/filter`, report);
  if (isObject(entry.throttle)) {
    checkFilter(entry.throttle.key, `${at}/throttle/key`, report);
    const { per } = entry.throttle;
    if (typeof per === 'string' && isLongThrottle(per))
      report(`${at}/throttle/per`, `must be ${throttleLimits.days}d at most`);
    if (entry.throttle.overflow === 'digest' && isObject(entry.digest))
      report(`${at}/throttle/overflow`, 'must be drop when the notification has a digest');
  }
  checkDigest(entry, at, report);
  for (const [field, message] of Object.entries(findCanaryMistakes(entry))) report(`${at}/${field}`, message);
  if (isObject(entry.recipients)) {
    checkFilter(entry.recipients.users, `${at}/recipients/users`, report);
    refer('list', entry.recipients.list, `${at}/recipients/list`);
    refer('schedule', entry.recipients.schedule, `${at}/recipients/schedule`);
    checkOffset(entry.recipients, `${at}/recipients`, report);
  }
  const referToChannel = (name: unknown, path: string) => {
    if (name !== personal) refer('channel', name, path);
  };
  checkNames(entry.channels, `${at}/channels`, report, referToChannel);
  for (const mistake of findStepMistakes(entry)) report(`${at}/${mistake.at}`, mistake.message);
  for (const step of entries(entry.steps, `${at}/steps`)) {
    checkNames(step.entry.channels, `${step.at}/channels`, report, referToChannel);
    if (isObject(step.entry.recipients)) {
      refer('list', step.entry.recipients.list, `${step.at}/recipients/list`);
      refer('schedule', step.entry.recipients.schedule, `${step.at}/recipients/schedule`);
      checkOffset(step.entry.recipients, `${step.at}/recipients`, report);
    }
  }
  checkNames(entry.environs, `${at}/environs`, report);
  if (isObject(entry.message)) refer('layout', entry.message.layout, `${at}/message/layout`);
  const variants = isObject(entry.canary) && isObject(entry.canary.variants) ? entry.canary.variants : {};
  for (const [place, texts] of [
    [at, entry],
    [`${at}/canary/variants/b`, variants.b],
  ] as const) {
    if (!isObject(texts)) continue;
    if (isObject(texts.overrides)) {
      for (const name of Object.keys(texts.overrides)) refer('channel', name, `${place}/overrides/${name}`);
    }
    checkMessage(texts, place, report, checkTemplate);
  }
}

function checkOffset({ schedule, offset }: JsonObject, at: string, report: ReportError): void {
  if (offset !== undefined && schedule === undefined) report(`${at}/offset`, 'is only allowed with schedule');
}

function checkDigest({ digest, priority, steps, throttle }: JsonObject, at: string, report: ReportError): void {
  if (steps !== undefined && isObject(throttle) && throttle.overflow === 'digest')
    report(`${at}/throttle/overflow`, 'must be drop when the notification has steps: steps cannot be digested');
  if (!isObject(digest)) return;
  if (steps !== undefined)
    report(`${at}/digest`, 'must be absent when the notification has steps: steps cannot be digested');
  checkFilter(digest.key, `${at}/digest/key`, report);
  const mistake = typeof digest.every === 'string' ? findDigestMistake(digest.every) : undefined;
  if (mistake) report(`${at}/digest/every`, mistake);
  if (priority === 'urgent')
    report(`${at}/digest`, 'must be absent when the priority is urgent: urgent messages do not wait');
}
