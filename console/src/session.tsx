/** The signed-in account and its permissions in the current organization. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, lazy, type ReactNode, Suspense, use, useEffect } from 'react';
import { useLocation, useNavigate, useParams } from 'react-router';
import { ApiError, setCsrfToken, setSignedOutHandler } from './api.ts';
import type { Session } from './api-types.ts';
import { SignInDialog } from './components/sign-in-dialog.tsx';
import { FullPage, Loading } from './components/states.tsx';
import { permissionName } from './permissions.ts';
import { read } from './queries.ts';
import { sessionKey } from './session-key.ts';
import { texts } from './texts/common.ts';

const Responses = lazy(() => import('./pages/pager/responses.tsx'));

const SessionContext = createContext<Session | null>(null);

export const sessionQuery = {
  queryKey: sessionKey,
  queryFn: async (context: { signal: AbortSignal }) => {
    const session = await read('/api/session/', {}).queryFn(context);
    setCsrfToken(session.csrf_token);
    return session;
  },
  staleTime: 60_000,
  retry: (count: number, error: Error) => !(error instanceof ApiError) && count < 3,
};

/** How often an ended session is checked. */
const endedMs = 5_000;

function isEnded(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

/**
 * Renders its children for signed-in accounts; others go to the sign-in page and return afterwards. When the session ends,
 * a dialog asks for the sign-in, and the page keeps its unsaved changes.
 */
export function RequireSession({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery({
    ...sessionQuery,
    // Notices a sign-in in another tab.
    refetchInterval: ({ state }) => isEnded(state.error) && state.data !== undefined && endedMs,
  });
  const location = useLocation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const missing = isEnded(error);
  const isNew = missing && !data;

  useEffect(() => {
    const signIn = () => {
      const to = location.pathname + location.search;
      navigate(to === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`, { replace: true });
    };
    setSignedOutHandler(() => void queries.refetchQueries({ queryKey: sessionQuery.queryKey }));
    if (isNew) signIn();
  }, [isNew, location, navigate, queries]);

  if (data) {
    return (
      <SessionContext value={data}>
        {children}
        {missing && <SignInDialog account={data.account} />}
      </SessionContext>
    );
  }
  if (error && !missing) {
    return (
      <FullPage error={error} retry={() => void refetch()}>
        {/* The pager started without a connection: what waits for one is still there. */}
        <Suspense>{navigator.serviceWorker?.controller && <Responses />}</Suspense>
      </FullPage>
    );
  }
  return <Loading label={texts.loadingTheConsole} />;
}

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('only pages below RequireSession know who is signed in');
  return session;
}

/** Returns the organization in the URL; undefined without one, or if the account has no access. */
export function useOrganization(): Session['organizations'][number] | undefined {
  const { org } = useParams();
  return useSession().organizations.find(organization => organization.slug === org);
}

/** Returns a function that checks the permissions of the account's role in this organization. */
export function useCan(): (permission: string) => boolean {
  const permissions = useOrganization()?.permissions ?? [];
  return permission => permissions.includes(permission) || permissions.includes('*');
}

/** Returns a function that explains a missing permission; undefined if the role has it. */
export function useRefusal(): (permission: string) => string | undefined {
  const can = useCan();
  const role = useOrganization()?.role;
  return permission =>
    can(permission)
      ? undefined
      : texts.missingPermission(role ? ` (${role})` : '', permissionName(permission), permission);
}
