import { Link } from 'react-router';

export default () => <><h1>About notes</h1><Link to="/">Home</Link></>;
