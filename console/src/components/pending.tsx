/** What is shown until the data of a query is there: that it is loading, or why it failed. */
import { Page } from './page.tsx';
import { Failure, Loading } from './states.tsx';

interface Query {
  error: unknown;
  refetch: () => unknown;
}

export function Pending({ query: { error, refetch } }: { query: Query }) {
  return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
}

/** Returns the page until then. As a component it would lose its heading, and the focus, when the data replaces it. */
export function pendingPage(title: string, parents: { label: string; to: string }[], query: Query) {
  return (
    <Page title={title} parents={parents}>
      <Pending query={query} />
    </Page>
  );
}
