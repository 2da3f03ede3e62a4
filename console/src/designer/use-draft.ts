/** Loading a notification, changing it, and saving it under the tag it was read with. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { ApiError, api, takeTagged } from '../api.ts';
import type { NewNotification, Notification } from '../api-types.ts';
import { tellFailure, tellSuccess } from '../components/actions.tsx';
import type { EventPath } from '../events/sample.ts';
import { creationOf, type Draft, newDraft, same, settingsChanges, toDraft, wordsOf } from './draft.ts';

export interface Loaded {
  value: Notification;
  etag: string | null;
}

const all = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/' as const;
const one = `${all}{notification}/` as const;

export async function loadNotification(path: EventPath, notification: number, signal?: AbortSignal): Promise<Loaded> {
  return takeTagged(api.GET(one, { params: { path: { ...path, notification } }, signal }));
}

/** `loaded` is undefined for a new one. */
export function useDraft(path: EventPath, loaded: Loaded | undefined, firstChannels: string[]) {
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [base, setBase] = useState<Draft>(() => (loaded ? toDraft(loaded.value) : newDraft(firstChannels)));
  const [draft, setDraft] = useState(base);
  const [saving, setSaving] = useState(false);
  const [conflict, setConflict] = useState(false);
  const [errors, setErrors] = useState<Record<string, string[]>>({});
  const change = useCallback((changes: Partial<Draft> | ((draft: Draft) => Draft)) => {
    setDraft(current => (typeof changes === 'function' ? changes(current) : { ...current, ...changes }));
  }, []);

  /** What was saved becomes what later changes are compared with; what was typed meanwhile stays. */
  const settle = (saved: Loaded, sent: Draft, part: 'settings' | 'words' | 'all') => {
    const fresh = toDraft(saved.value);
    setStored(saved);
    setBase(current => take(current, fresh, part));
    setDraft(current => (same(current, sent) ? take(current, fresh, part) : current));
    return take(sent, fresh, part);
  };

  /** Answers with the number of what was created or changed; undefined when it was refused. */
  const save = async (overwrite = false): Promise<number | undefined> => {
    const missing = lacking(draft);
    setErrors(missing);
    setConflict(false);
    if (Object.keys(missing).length > 0) {
      tellFailure(new Error(`Not saved yet: ${Object.values(missing).flat().join(' ')}`));
      return undefined;
    }
    setSaving(true);
    try {
      if (!stored) {
        const body = creationOf(draft) as NewNotification;
        const made: Loaded = await takeTagged(api.POST(all, { params: { path }, body }));
        settle(made, draft, 'all');
        return made.value.id;
      }
      const params = { path: { ...path, notification: stored.value.id } };
      const under = (etag: string | null) => (overwrite || !etag ? {} : { 'if-match': etag });
      let { etag } = stored;
      let sent = draft;
      const changes = settingsChanges(draft, base);
      if (Object.keys(changes).length > 0) {
        const saved: Loaded = await takeTagged(api.PATCH(one, { params, body: changes, headers: under(etag) }));
        sent = settle(saved, sent, 'settings');
        etag = saved.etag;
      }
      if (!same(wordsOf(draft), wordsOf(base))) {
        const body = wordsOf(draft);
        const saved: Loaded = await takeTagged(api.PUT(`${one}message/`, { params, body, headers: under(etag) }));
        settle(saved, sent, 'words');
      }
      tellSuccess('Saved.');
      return stored.value.id;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setConflict(true);
      else {
        if (error instanceof ApiError) setErrors(error.errors);
        tellFailure(error);
      }
      return undefined;
    } finally {
      setSaving(false);
      void queries.invalidateQueries({ queryKey: [path.org] });
    }
  };

  /** What somebody else saved, in place of everything typed here. */
  const reload = async () => {
    if (!stored) return;
    const fresh = await loadNotification(path, stored.value.id);
    setStored(fresh);
    setBase(toDraft(fresh.value));
    setDraft(toDraft(fresh.value));
    setErrors({});
    setConflict(false);
  };

  return {
    draft,
    change,
    base,
    stored: stored?.value,
    dirty: !same(draft, base),
    discard: () => setDraft(base),
    save,
    saving,
    reload,
    conflict,
    closeConflict: () => setConflict(false),
    errors,
  };
}

export type Drafting = ReturnType<typeof useDraft>;

function take(draft: Draft, fresh: Draft, part: 'settings' | 'words' | 'all'): Draft {
  const { message, overrides } = draft;
  if (part === 'all') return fresh;
  if (part === 'settings') return { ...fresh, message, overrides };
  return { ...draft, message: fresh.message, overrides: fresh.overrides };
}

/** What the service would refuse in words of its own. */
function lacking({ recipients, channels }: Draft): Record<string, string[]> {
  return {
    ...(Object.keys(recipients).length === 0 && { recipients: ['Choose who is told.'] }),
    ...(recipients.list === '' && { 'recipients/list': ['Choose a list.'] }),
    ...(recipients.users === '' && { 'recipients/users': ['Write an expression, or untick it.'] }),
    ...(channels.length === 0 && { channels: ['Choose at least one channel.'] }),
  };
}
