import { lazy, Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter, Link, Route, Routes, useNavigate, useParams } from 'react-router';

const About = lazy(() => import('./about.jsx'));

async function api(path, method = 'GET', body = undefined) {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`/api${path}`, { method, headers, body: JSON.stringify(body) });
  return response.status === 204 ? null : response.json();
}

function List() {
  const [notes, setNotes] = useState([]);
  const [query, setQuery] = useState('');
  const [count, setCount] = useState(null);
  const [arrived, setArrived] = useState([]);
  const navigate = useNavigate();
  useEffect(() => { // three at once, which take as long as the server likes
    const ask = (name) => api(`/${name}`).then((answer) => {
      setArrived((before) => [...before, name]);
      return answer;
    });
    ask('slow');
    ask('quick');
    ask('stats').then((stats) => setCount(stats.count));
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => api(`/notes?q=${encodeURIComponent(query)}`).then(setNotes), 300);
    return () => clearTimeout(timer);
  }, [query]);
  const remove = (id) => api(`/notes/${id}`, 'DELETE')
    .then(() => setNotes((before) => before.filter((note) => note.id !== id)));
  return <>
    <p>{count ?? 'some'} notes; arrived: {arrived.join(', ')}</p>
    <label>Search <input value={query} onChange={(event) => setQuery(event.target.value)} /></label>
    <ul>{notes.map(({ id, title }) => <li key={id}>
      <Link to={`/notes/${id}`}>{title}</Link> <button onClick={() => remove(id)}>Delete {title}</button>
    </li>)}</ul>
    <button onClick={() => navigate('/new')}>New note</button> <Link to="/about">About</Link>
  </>;
}

function New() {
  const [title, setTitle] = useState('');
  const [error, setError] = useState('');
  const navigate = useNavigate();
  const save = async (event) => {
    event.preventDefault();
    const [at, id, dice] = [new Date().toISOString(), crypto.randomUUID(), Math.random()];
    const answer = await api('/notes', 'POST', { title, at, id, dice });
    if (answer.error) {
      setError(answer.error);
    } else {
      navigate(`/notes/${answer.id}`);
    }
  };
  return <form onSubmit={save}>
    <label>Title <input value={title} onChange={(event) => setTitle(event.target.value)} /></label>
    <button>Save</button> <p role="alert">{error}</p>
  </form>;
}

function Note() {
  const { id } = useParams();
  const [note, setNote] = useState(null);
  useEffect(() => { api(`/notes/${id}`).then(setNote); }, [id]);
  return <><h1>{note?.title}</h1><p>{note?.written}</p><Link to="/">All notes</Link></>;
}

createRoot(document.getElementById('root')).render(
  <BrowserRouter>
    <Suspense fallback={<p>Loading</p>}>
      <Routes>
        <Route path="/" element={<List />} />
        <Route path="/new" element={<New />} />
        <Route path="/notes/:id" element={<Note />} />
        <Route path="/about" element={<About />} />
      </Routes>
    </Suspense>
  </BrowserRouter>,
);
