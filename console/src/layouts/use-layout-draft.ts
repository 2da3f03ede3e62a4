/** Changing a layout, and saving it under the tag it was read with. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, takeTagged } from '../api.ts';
import type { Layout } from '../api-types.ts';
import { tellFailure, tellSuccess } from '../components/actions.tsx';
import { starter } from './starter.ts';

interface Loaded {
  value: Layout;
  etag: string | null;
}

interface Draft {
  name: string;
  body: string;
}

export function useLayoutDraft(org: string, prj: string | undefined, loaded: Loaded | undefined) {
  const queries = useQueryClient();
  const [stored, setStored] = useState(loaded);
  const [draft, setDraft] = useState<Draft>(() => toDraft(loaded) ?? { name: '', body: starter });
  const [saving, setSaving] = useState(false);
  const [conflict, setConflict] = useState(false);
  const [errors, setErrors] = useState<Record<string, string[]>>({});
  const base = toDraft(stored);
  const dirty = base
    ? base.name !== draft.name || base.body !== draft.body
    : draft.name !== '' || draft.body !== starter;

  const settle = (saved: Loaded) => {
    setStored(saved);
    setDraft({ name: saved.value.name, body: saved.value.body });
    return saved.value.id;
  };

  const save = async (overwrite = false): Promise<number | undefined> => {
    setSaving(true);
    setErrors({});
    setConflict(false);
    const { name, body } = draft;
    try {
      if (!stored) {
        const made = prj
          ? takeTagged(api.POST('/api/o/{org}/p/{prj}/l/', { params: { path: { org, prj } }, body: { name, body } }))
          : takeTagged(api.POST('/api/o/{org}/l/', { params: { path: { org } }, body: { name, body } }));
        return settle(await made);
      }
      const headers = overwrite || !stored.etag ? {} : { 'if-match': stored.etag };
      const layout = stored.value.id;
      const changes = {
        ...(name !== stored.value.name && { name }),
        ...(body !== stored.value.body && { body }),
      };
      const changed = prj
        ? takeTagged(
            api.PATCH('/api/o/{org}/p/{prj}/l/{layout}/', {
              params: { path: { org, prj, layout } },
              body: changes,
              headers,
            }),
          )
        : takeTagged(
            api.PATCH('/api/o/{org}/l/{layout}/', { params: { path: { org, layout } }, body: changes, headers }),
          );
      const id = settle(await changed);
      tellSuccess('Saved.');
      return id;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setConflict(true);
      else {
        if (error instanceof ApiError) setErrors(error.errors);
        tellFailure(error);
      }
      return undefined;
    } finally {
      setSaving(false);
      void queries.invalidateQueries({ queryKey: [org] });
    }
  };

  const reload = async () => {
    if (!stored) return;
    const layout = stored.value.id;
    const fresh = prj
      ? takeTagged(api.GET('/api/o/{org}/p/{prj}/l/{layout}/', { params: { path: { org, prj, layout } } }))
      : takeTagged(api.GET('/api/o/{org}/l/{layout}/', { params: { path: { org, layout } } }));
    settle(await fresh);
    setConflict(false);
  };

  return {
    draft,
    change: (changes: Partial<Draft>) => setDraft(current => ({ ...current, ...changes })),
    stored: stored?.value,
    dirty,
    discard: () => base && setDraft(base),
    save,
    saving,
    reload,
    conflict,
    closeConflict: () => setConflict(false),
    errors,
  };
}

function toDraft(loaded: Loaded | undefined): Draft | undefined {
  return loaded && { name: loaded.value.name, body: loaded.value.body };
}
