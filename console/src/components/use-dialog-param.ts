/** State of a dialog that is kept in the URL (`?new`), so that the palette can link to it. */
import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

export function useDialogParam(name = 'new'): [isOpen: boolean, setOpen: (open: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const setOpen = useCallback(
    (open: boolean) =>
      setParams(
        before => {
          const after = new URLSearchParams(before);
          if (open) after.set(name, '');
          else after.delete(name);
          return after;
        },
        { replace: true, preventScrollReset: true },
      ),
    [name, setParams],
  );
  return [params.has(name), setOpen];
}
