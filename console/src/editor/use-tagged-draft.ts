/**
 * Draft of a resource while it is edited. It is saved with the ETag it was loaded with, so that a concurrent change by
 * someone else is detected (412) instead of overwritten. Text typed while a request is in flight stays in the draft. An
 * unsaved draft is kept in the tab's session storage and restored when the user returns to the page.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { ApiError } from '../api.ts';
import { showError, showSuccess } from '../components/actions.tsx';
import type { ConflictInfo } from '../components/conflict.tsx';
import { forgetDraft, readKeptDraft, useKeptDraft } from '../components/kept-draft.ts';
import { refreshAll } from '../queries.ts';
import { texts } from '../texts/designer.ts';
import { isSame, listKept, listReplaced, rebase } from './merge.ts';

export interface TaggedResource<Stored> {
  value: Stored;
  etag: string | null;
}

type IfMatch = { 'if-match'?: string };

/** One request of a save, and the fields that it saves. */
export interface SaveStep<Stored, Draft> {
  fields: (keyof Draft)[];
  save: (draft: Draft, base: Draft, headers: IfMatch) => Promise<TaggedResource<Stored>>;
}

interface TaggedDraftOptions<Stored extends { id: number }, Draft extends object> {
  /** Kind and scope of the resource; together with its ID, the session storage key of the unsaved draft. */
  scope: string;
  /** Undefined for a new resource. */
  loaded: TaggedResource<Stored> | undefined;
  toDraft: (stored: Stored) => Draft;
  blank: () => Draft;
  create: (draft: Draft) => Promise<TaggedResource<Stored>>;
  /** Requests sent in order, each with the ETag that the previous one returned. */
  steps: (id: number) => SaveStep<Stored, Draft>[];
  load: (id: number) => Promise<TaggedResource<Stored>>;
  /** Client-side validation, shown beside the fields before the request is sent. */
  check?: (draft: Draft) => Record<string, string[]>;
}

interface StoredDraft<Stored, Draft> {
  stored: TaggedResource<Stored> | undefined;
  base: Draft;
  draft: Draft;
}

/** What someone else saved in the meantime, and the draft on top of it. */
interface Conflicting<Stored, Draft> extends ConflictInfo {
  latest: TaggedResource<Stored>;
  theirs: Draft;
  merged: Draft;
}

export function useTaggedDraft<Stored extends { id: number }, Draft extends object>(
  options: TaggedDraftOptions<Stored, Draft>,
) {
  const { scope, loaded, toDraft, blank, create, steps, load, check } = options;
  const queries = useQueryClient();
  const [start] = useState<StoredDraft<Stored, Draft>>(() => {
    const base = loaded ? toDraft(loaded.value) : blank();
    return (
      readKeptDraft<StoredDraft<Stored, Draft>>(draftKeyOf(scope, loaded)) ?? { stored: loaded, base, draft: base }
    );
  });
  const [stored, setStored] = useState(start.stored);
  const [base, setBase] = useState(start.base);
  const [draft, setDraft] = useState(start.draft);
  const [isSaving, setSaving] = useState(false);
  const [conflict, setConflict] = useState<Conflicting<Stored, Draft>>();
  const [errors, setErrors] = useState<Record<string, string[]>>({});
  const isDirty = !isSame(draft, base);
  const draftKey = draftKeyOf(scope, stored);
  const change = useCallback((changes: Partial<Draft> | ((draft: Draft) => Draft)) => {
    setDraft(current => (typeof changes === 'function' ? changes(current) : { ...current, ...changes }));
  }, []);

  useKeptDraft(draftKey, isDirty ? { stored, base, draft } : undefined);

  /** Makes the saved values the base of later comparisons; fields edited in the meantime keep their text. */
  const settle = (saved: TaggedResource<Stored>, sent: Draft, fields: (keyof Draft)[]) => {
    const fresh = toDraft(saved.value);
    setStored(saved);
    setBase(current => ({ ...current, ...pick(fresh, fields) }));
    setDraft(current => ({
      ...current,
      ...pick(
        fresh,
        fields.filter(field => isSame(current[field], sent[field])),
      ),
    }));
  };

  /** Sends the requests of a save. Returns the ID of the created or changed resource. */
  const send = async (from: TaggedResource<Stored> | undefined, sent: Draft, before: Draft): Promise<number> => {
    if (!from) {
      const created = await create(sent);
      // The draft is now stored under the new ID.
      forgetDraft(draftKey);
      settle(created, sent, Object.keys(sent) as (keyof Draft)[]);
      return created.value.id;
    }
    let { etag } = from;
    for (const { fields, save: request } of steps(from.value.id)) {
      if (isSame(pick(sent, fields), pick(before, fields))) continue;
      const saved = await request(sent, before, etag ? { 'if-match': etag } : {});
      settle(saved, sent, fields);
      etag = saved.etag;
    }
    showSuccess(texts.saved);
    return from.value.id;
  };

  /**
   * Returns the ID of the created or changed resource; undefined if saving failed. With `overwrite`, saves the draft on top of
   * the version that the conflict showed: yet another change is a conflict again.
   */
  const save = async ({ overwrite = false } = {}): Promise<number | undefined> => {
    const onTop = overwrite ? conflict : undefined;
    const sent = onTop?.merged ?? draft;
    const missing = check?.(sent) ?? {};
    setErrors(missing);
    setConflict(undefined);
    if (onTop) {
      setStored(onTop.latest);
      setBase(onTop.theirs);
      setDraft(onTop.merged);
    }
    if (Object.keys(missing).length > 0) return undefined;
    setSaving(true);
    try {
      return await send(onTop?.latest ?? stored, sent, onTop?.theirs ?? base);
    } catch (error) {
      if (error instanceof ApiError && error.status === 412 && stored) {
        await showConflict(stored.value.id, sent, onTop?.theirs ?? base);
      } else {
        if (error instanceof ApiError) setErrors(error.errors);
        showError(error);
      }
      return undefined;
    } finally {
      setSaving(false);
      void refreshAll(queries, ['/api/o/{org}/']);
    }
  };

  const showConflict = async (id: number, mine: Draft, before: Draft) => {
    try {
      const latest = await load(id);
      const theirs = toDraft(latest.value);
      const merged = rebase(before, mine, theirs);
      const replaced = listReplaced(theirs, merged);
      setConflict({ latest, theirs, merged, replaced, kept: listKept(before, mine, theirs) });
    } catch (error) {
      showError(error);
    }
  };

  /** Replaces the draft with what someone else saved. */
  const takeTheirs = () => {
    if (!conflict) return;
    setStored(conflict.latest);
    setBase(conflict.theirs);
    setDraft(conflict.theirs);
    setErrors({});
    setConflict(undefined);
  };

  return {
    draft,
    change,
    stored: stored?.value,
    isDirty,
    isSaving,
    conflict,
    errors,
    save,
    takeTheirs,
    /** Returns a function that restores the discarded draft. */
    discard: () => {
      setDraft(base);
      setErrors({});
      return () => setDraft(draft);
    },
    keepEditing: () => setConflict(undefined),
  };
}

export type TaggedDraft<Stored extends { id: number }, Draft extends object> = ReturnType<
  typeof useTaggedDraft<Stored, Draft>
>;

function pick<T extends object>(from: T, fields: (keyof T)[]): Partial<T> {
  return Object.fromEntries(fields.map(field => [field, from[field]])) as Partial<T>;
}

function draftKeyOf(scope: string, stored: TaggedResource<{ id: number }> | undefined): string {
  return `${scope}/${stored?.value.id ?? 'new'}`;
}
