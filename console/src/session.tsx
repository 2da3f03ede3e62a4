/** Who is signed in, and what they may do in the organization they look at. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect } from 'react';
import { useLocation, useNavigate, useParams } from 'react-router';
import { ApiError, api, setCsrfToken, take, whenSignedOut } from './api.ts';
import type { Session } from './api-types.ts';
import { FullPage, Waiting } from './components/states.tsx';
import { texts } from './texts/common.ts';

const SessionContext = createContext<Session | null>(null);

export const sessionQuery = {
  queryKey: ['session'],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const session = await take(api.GET('/api/session/', { signal }));
    setCsrfToken(session.csrf_token);
    return session;
  },
  staleTime: 60_000,
  retry: (count: number, error: Error) => !(error instanceof ApiError) && count < 3,
};

/** The way back after signing in: a path of this console, never another host. */
export function returnPath(search: string): string {
  const wanted = new URLSearchParams(search).get('to') ?? '/';
  return /^\/(?![/\\])/.test(wanted) ? wanted : '/';
}

/** Everything below it is for signed-in accounts; others go to the sign-in page and come back. */
export function RequireSession({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery(sessionQuery);
  const location = useLocation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const missing = error instanceof ApiError && error.status === 401;

  useEffect(() => {
    const signIn = () => {
      const to = location.pathname + location.search;
      navigate(to === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`, { replace: true });
    };
    whenSignedOut(() => void queries.refetchQueries({ queryKey: sessionQuery.queryKey }));
    if (missing) signIn();
  }, [missing, location, navigate, queries]);

  if (data && !missing) return <SessionContext value={data}>{children}</SessionContext>;
  if (error && !missing) return <FullPage error={error} retry={() => void refetch()} />;
  return <Waiting label={texts.loadingTheConsole} />;
}

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('only pages below RequireSession know who is signed in');
  return session;
}

/** The organization of the address; undefined where the address names none or one that the account cannot see. */
export function useOrganization(): Session['organizations'][number] | undefined {
  const { org } = useParams();
  return useSession().organizations.find(organization => organization.slug === org);
}

/** Whether the account's role here has the permission. */
export function useCan(): (permission: string) => boolean {
  const permissions = useOrganization()?.permissions ?? [];
  return permission => permissions.includes(permission) || permissions.includes('*');
}

/** Why a control is disabled, in words; undefined when it is not. */
export function useRefusal(): (permission: string) => string | undefined {
  const can = useCan();
  const role = useOrganization()?.role;
  return permission =>
    can(permission) ? undefined : texts.yourRoleDoesNotAllowThis(role ? ` (${role})` : '', permission);
}
