import { Page } from '../components/page.tsx';
import { Empty } from '../components/states.tsx';

export default function Overview() {
  return (
    <Page title="Overview">
      <Empty title="Nothing has been triggered yet" />
    </Page>
  );
}
