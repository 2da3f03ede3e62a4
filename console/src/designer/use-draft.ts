/** Draft of a notification. Its settings and its message are saved by separate requests. */
import { api, takeTagged } from '../api.ts';
import type { NewNotification, Notification } from '../api-types.ts';
import { type TaggedResource, useTaggedDraft } from '../editor/use-tagged-draft.ts';
import type { EventPath } from '../events/sample.ts';
import { texts } from '../texts/designer.ts';
import { creationOf, type Draft, messageOf, newDraft, settingsChanges, toDraft } from './draft.ts';
import { explainPeriod, explainWindow } from './explain-sending.ts';

const all = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/' as const;
const one = `${all}{notification}/` as const;

const messageFields: (keyof Draft)[] = ['message', 'overrides'];
/** All others, so that none is forgotten. */
const settingsFields = (Object.keys(newDraft()) as (keyof Draft)[]).filter(field => !messageFields.includes(field));

export function loadNotification(
  path: EventPath,
  notification: number,
  signal?: AbortSignal,
): Promise<TaggedResource<Notification>> {
  return takeTagged(api.GET(one, { params: { path: { ...path, notification } }, signal }));
}

export function useDraft(path: EventPath, loaded: TaggedResource<Notification> | undefined, start: Partial<Draft>) {
  return useTaggedDraft<Notification, Draft>({
    scope: `notification ${Object.values(path).join('/')}`,
    loaded,
    toDraft,
    blank: () => ({ ...newDraft(), ...start }),
    create: draft => takeTagged(api.POST(all, { params: { path }, body: creationOf(draft) as NewNotification })),
    steps: notification => {
      const params = { path: { ...path, notification } };
      return [
        {
          fields: settingsFields,
          save: (draft, base, headers) =>
            takeTagged(api.PATCH(one, { params, body: settingsChanges(draft, base), headers })),
        },
        {
          fields: messageFields,
          save: (draft, _, headers) =>
            takeTagged(api.PUT(`${one}message/`, { params, body: messageOf(draft), headers })),
        },
      ];
    },
    load: notification => loadNotification(path, notification),
    check,
  });
}

/** Validates what the API would reject with less helpful messages. */
function check({ name, recipients, channels, steps, throttle, digest, message }: Draft): Record<string, string[]> {
  return {
    ...(name.trim() === '' && { name: [texts.enterAName] }),
    ...(Object.keys(recipients).length === 0 && { recipients: [texts.chooseRecipients] }),
    ...(recipients.schedule === '' && { 'recipients/schedule': [texts.chooseAScheduleError] }),
    ...(recipients.list === '' && { 'recipients/list': [texts.chooseAListError] }),
    ...(recipients.users === '' && { 'recipients/users': [texts.enterAnExpression] }),
    ...(!steps && channels.length === 0 && { channels: [texts.chooseAtLeastOneChannel] }),
    ...Object.fromEntries(
      (steps ?? []).flatMap((step, i) =>
        step.channels.length === 0 ? [[`steps/${i}/channels`, [texts.chooseAtLeastOneChannel]]] : [],
      ),
    ),
    ...(throttle && !(Number(throttle.max) >= 1) && { 'throttle/max': [texts.enterANumber] }),
    ...(throttle && explainPeriod(throttle.per) === undefined && { 'throttle/per': [texts.enterADuration] }),
    ...(digest && explainWindow(digest.every) === undefined && { 'digest/every': [texts.enterAWindow] }),
    ...(message.body.trim() === '' && { 'message/body': [texts.writeAMessage] }),
  };
}
